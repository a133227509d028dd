//! Reads and judges the objects of a large cluster, as kubectl prints them: 5,000 Nodes, 20,000 pods and 3,000
//! Services.
//! `cargo bench --bench kubernetes --no-default-features`

#![expect(clippy::unwrap_used, reason = "a benchmark fails on unexpected input")]

mod cluster;

use tagaudit::internals::kubernetes::Evidence;
use tagaudit::internals::kubernetes_lint::KubernetesLint;
use tagaudit::internals::rules::RULES;

fn main() {
    divan::main();
}

/// The list, as `kubectl get nodes,services,pods,daemonsets -A -o json` prints it.
fn list() -> Vec<u8> {
    serde_json::to_vec_pretty(&cluster::objects(None)).unwrap()
}

#[divan::bench(sample_count = 10)]
fn read_and_judge(bencher: divan::Bencher<'_, '_>) {
    let text = list();
    bencher.counter(divan::counter::BytesCount::of_slice(&text)).with_inputs(|| text.clone()).bench_local_values(
        |text| {
            let evidence = Evidence::parse("cluster.json", text).unwrap();
            let mut lint = KubernetesLint::default();
            lint.check(&[evidence], &RULES);
            assert!(lint.findings.is_empty(), "{:?}", lint.findings.first());
            lint
        },
    );
}

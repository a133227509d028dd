//! `cargo bench -p tagaudit-policy`: the pure parts by themselves.

use divan::{Bencher, black_box};
use tagaudit_policy::{
    Catalogue, Document, Environment, NamedDocument, Need, PolicySet, PreparedPolicies, Question, contains, excess,
    matches,
};

fn main() {
    divan::main();
}

fn controlplane() -> PolicySet {
    let text = include_str!("../../policies/rancher-controlplane.json");
    let document = Document::parse(text).unwrap_or_else(|error| unreachable!("embedded: {error}"));
    PolicySet::for_identity(vec![NamedDocument { name: "rancher-controlplane".into(), document }])
}

/// All 53 actions of the control-plane baseline against a role that holds it.
#[divan::bench]
fn role_against_its_baseline(bencher: Bencher<'_, '_>) {
    let set = controlplane();
    let environment = Environment {
        partition: "aws".into(),
        account_id: "123456789012".into(),
        regions: vec!["us-east-1".into()],
        ..Environment::default()
    };
    let actions: Vec<String> =
        set.identity().flat_map(|named| named.document.allowed_actions().map(str::to_owned)).collect();
    let needs: Vec<Need> = actions.iter().cloned().map(Need::everywhere).collect();
    let catalogue = Catalogue::embedded();
    bencher.bench(|| {
        let policies = PreparedPolicies::new(&set);
        for action in &actions {
            black_box(policies.assess(Question::on(action, &[]), &environment, catalogue));
        }
        black_box(excess(&set, &policies, &needs, &environment, catalogue));
    });
}

#[divan::bench]
fn glob_matches() -> bool {
    matches(
        black_box("arn:aws:ec2:*:*:instance/i-*"),
        black_box("arn:aws:ec2:us-east-1:123456789012:instance/i-0a1b2c3d"),
    )
}

#[divan::bench]
fn glob_contains() -> bool {
    contains(black_box("arn:aws:s3:::*-logs/*"), black_box("arn:aws:s3:::prod-*-logs/2026/*"))
}

/// A pattern made to be expensive.
#[divan::bench]
fn glob_contains_hostile() -> bool {
    contains(black_box(&"a*".repeat(20)), black_box(&"*a?".repeat(20)))
}

//! Examples in the help of each command.

use std::fmt::Write as _;

use clap::Command;

/// A command line, and what it is for.
pub(in crate::cli) type Example = (&'static str, &'static str);

/// Examples by the names of the command, from the outermost on.
const EXAMPLES: &[(&[&str], &[Example])] = &[
    (
        &["scan"],
        &[
            ("tagaudit scan --cluster-id prod --region eu-central-1", "audit one cluster"),
            (
                "tagaudit scan --cluster-id prod --kube-context prod -o prod.html",
                "with its Kubernetes state, as a page",
            ),
            ("tagaudit scan --cluster-id prod --fix --dry-run", "preview the fixes"),
            ("tagaudit scan --provider alibaba --cluster-id prod --region cn-hangzhou", "in Alibaba Cloud"),
            ("tagaudit scan --all-clusters --all-regions", "every cluster of the account"),
        ],
    ),
    (&["apply"], &[("tagaudit apply plan.json", "apply a plan that `scan --fix --plan-out plan.json` has saved")]),
    (&["undo"], &[("tagaudit undo journal.json", "take a fix back")]),
    (
        &["clusters"],
        &[
            ("tagaudit clusters --region eu-central-1", "the cluster ids of a region"),
            ("tagaudit clusters --inventory prod.json", "those of a recording"),
        ],
    ),
    (
        &["roles"],
        &[(
            "tagaudit roles --cluster-id prod --kube-context prod",
            "which role each controller uses, and what it lacks",
        )],
    ),
    (
        &["simulate"],
        &[
            ("helm template shop chart/ | tagaudit simulate --cluster-id prod --kube-context prod -", "a chart"),
            ("tagaudit simulate --cluster-id prod --kube-context prod --target-controller 1.33", "an upgrade"),
        ],
    ),
    (
        &["guard"],
        &[
            (
                "helm template shop ./chart | tagaudit guard --manifests - --cluster-id prod --kube-context prod",
                "what a release breaks",
            ),
            ("terraform show -json plan.bin | tagaudit guard - --inventory prod.json", "on a recording"),
            (
                "tofu show -json plan.bin | tagaudit guard - --region eu-central-1 --format markdown",
                "for a pull request",
            ),
        ],
    ),
    (
        &["why"],
        &[
            ("tagaudit why service shop/web --cluster-id prod --kube-context prod", "a Service that is pending"),
            ("kubectl describe service web | tagaudit why -", "what the events mean"),
            (
                "tagaudit why ccm.log --inventory prod.json",
                "a log, checked with the policies and rules of a recorded account",
            ),
            ("tagaudit why ebs.log --decode", "with the encoded messages of EC2"),
        ],
    ),
    (
        &["why", "service"],
        &[("tagaudit why service shop/web --cluster-id prod --kube-context prod", "a Service that is pending")],
    ),
    (
        &["why", "ingress"],
        &[(
            "tagaudit why ingress shop/site --cluster-id prod --inventory prod.json --kubernetes cluster.yaml",
            "from files",
        )],
    ),
    (
        &["why", "node"],
        &[(
            "tagaudit why node ip-10-0-0-1.ec2.internal --cluster-id prod --kube-context prod",
            "a Node that is tainted",
        )],
    ),
    (
        &["why", "pod"],
        &[
            ("tagaudit why pod shop/web-0 --cluster-id prod --kube-context prod", "a Pod that is pending"),
            (
                "kubectl get pods,pvc,events -n shop -o json | tagaudit why pod shop/web-0 --cluster-id prod --inventory prod.json --objects -",
                "from files",
            ),
        ],
    ),
    (
        &["record"],
        &[("tagaudit record --region eu-central-1 -o prod.json", "for `scan --inventory prod.json` elsewhere")],
    ),
    (
        &["lint"],
        &[
            ("tagaudit lint clusters/ manifests/", "folders"),
            ("kubectl get nodes,services,daemonsets -A -o yaml | tagaudit lint -", "a cluster"),
            ("tagaudit lint --target-kubernetes 1.34 clusters/", "what an upgrade breaks"),
        ],
    ),
    (
        &["migrate"],
        &[(
            "tagaudit migrate --from in-tree --to external --kubernetes cluster.yaml",
            "the stage, and the next safe step",
        )],
    ),
    (
        &["policy", "diff"],
        &[(
            "tagaudit policy diff --baseline rancher-worker worker.json",
            "what a node lacks, and what it may do beyond that",
        )],
    ),
    (
        &["policy", "eval"],
        &[("tagaudit policy eval --policy worker.json --action ecr:BatchGetImage --resource '*'", "one request")],
    ),
    (&["policy", "lint"], &[("tagaudit policy lint policies/", "misspelt, ineffective, too broad, with positions")]),
    (&["policy", "expand"], &[("tagaudit policy expand 'ec2:Describe*'", "the actions of a pattern")]),
    (
        &["policy", "shrink"],
        &[("tagaudit policy shrink ec2:CreateTags ec2:DeleteTags", "the patterns of exactly these actions")],
    ),
    (
        &["report"],
        &[
            ("tagaudit report prod.json", "a saved report, at the terminal"),
            ("tagaudit report prod.json -o prod.html", "as a page"),
        ],
    ),
    (&["merge"], &[("tagaudit merge shard-0.json shard-1.json -o all.html", "the reports of two shards as one")]),
    (&["config", "check"], &[("tagaudit config check", "the file that `scan` finds here")]),
    (&["config", "init"], &[("tagaudit config init", "`tagaudit.toml` in this folder")]),
    (&["config", "schema"], &[("tagaudit config schema", "for editors")]),
    (
        &["rules"],
        &[
            ("tagaudit rules --severity error --resource subnet", "a selection"),
            ("tagaudit rules --search uninitialized", "by a word"),
        ],
    ),
    (
        &["explain"],
        &[
            ("tagaudit explain sg-multiple-tagged-on-instance", "a rule"),
            ("tagaudit explain 'AWS cloud failed to find ClusterID'", "a line of a log"),
            ("tagaudit explain --effective prod --kubernetes clusters/", "the arguments that nodes start with"),
        ],
    ),
    (&["example"], &[("tagaudit example rke2 --kubernetes-version 1.33", "a minimal, correct set of files")]),
    (&["baseline", "list"], &[("tagaudit baseline list", "the names")]),
    (&["baseline", "show"], &[("tagaudit baseline show rancher-controlplane", "a policy document")]),
    (&["baseline", "changes"], &[("tagaudit baseline changes lbc", "what each release asks for")]),
    (
        &["permissions"],
        &[
            ("tagaudit permissions", "the policy for a scan"),
            ("tagaudit permissions --kubernetes", "the ClusterRole for `--kube-context`"),
        ],
    ),
    (&["completions"], &[("tagaudit completions bash", "for `/etc/bash_completion.d`")]),
    (
        &["man"],
        &[
            ("tagaudit man --output /usr/local/share/man/man1", "a page for each command"),
            ("tagaudit man", "all pages, one after the other"),
        ],
    ),
];

/// Examples of a command, by its names; none for a group of commands.
pub(in crate::cli) fn of(path: &[&str]) -> &'static [Example] {
    EXAMPLES.iter().find(|(names, _)| *names == path).map_or(&[], |(_, examples)| examples)
}

/// Adds the examples to the help of a command and of those within it.
pub(super) fn with_examples(command: Command) -> Command {
    within(command, &mut Vec::new())
}

/// Number of examples in the short help.
const FIRST: usize = 2;

fn within(mut command: Command, path: &mut Vec<String>) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|one| one.get_name().to_owned()).collect();
    for name in names {
        path.push(name.clone());
        command = command.mut_subcommand(name, |inner| within(inner, path));
        path.pop();
    }
    match EXAMPLES.iter().find(|(names, _)| names.iter().eq(path.iter())) {
        Some((_, examples)) => {
            let first = examples.get(..FIRST).unwrap_or(examples);
            command.after_help(text(first)).after_long_help(text(examples))
        }
        None => command,
    }
}

fn text(examples: &[Example]) -> String {
    let mut text = "Examples:".to_owned();
    for (line, purpose) in examples {
        let _ = write!(text, "\n  {line}\n      {purpose}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::config::command_with_environment;

    fn leaves(command: &Command, path: &[String], found: &mut Vec<Vec<String>>) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            let path = [path, &[inner.get_name().to_owned()]].concat();
            if inner.get_subcommands().next().is_none() {
                found.push(path.clone());
            }
            leaves(inner, &path, found);
        }
    }

    #[test]
    fn every_command_has_examples() {
        let mut all = Vec::new();
        leaves(&command_with_environment(), &[], &mut all);
        for path in all {
            let has = EXAMPLES.iter().any(|(names, examples)| names.iter().eq(path.iter()) && !examples.is_empty());
            assert!(has, "{path:?}");
        }
    }

    #[test]
    fn every_example_is_a_command_line_that_is_taken() {
        for (line, _) in EXAMPLES.iter().flat_map(|(_, examples)| *examples) {
            let own = line.rsplit(" | ").next().unwrap();
            let words = shell_words::split(own).unwrap();
            let taken = command_with_environment().try_get_matches_from(&words);
            assert!(taken.is_ok(), "{line}: {}", taken.unwrap_err());
        }
    }
}

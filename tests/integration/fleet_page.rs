//! The page of a fleet: what is wrong in how many clusters comes first, and hundreds of clusters stay a small page.

use tagaudit::internals::render::ReportFormat;
use tagaudit::internals::report::{Report, ReportSet, TargetReport};

use super::sets::{READ, page, report_in, target};

/// Clusters of which every third has the defects of the demo, two in each account.
fn fleet(number: u32) -> ReportSet {
    let (broken, clean) = (report_in("demo", "111111111111", READ), report_in("clean-rke2", "111111111111", READ));
    let targets = (0..number).map(|index| {
        let account = format!("{:012}", 100_000_000_000_u64 + u64::from(index / 2));
        let model = if index % 3 == 0 { &broken } else { &clean };
        let mut report = Report { cluster_id: format!("c-{index:04}"), ..model.clone() };
        report.accounts.iter_mut().for_each(|one| one.account_id.clone_from(&account));
        TargetReport { name: Some(format!("team-{}", index / 2)), ..target(&account, vec![report]) }
    });
    ReportSet::new(targets.collect(), None, Vec::new())
}

/// The part of a page from one heading to the next.
fn part<'p>(page: &'p str, heading: &str) -> &'p str {
    let from = page.split_once(&format!("<h2>{heading}</h2>")).unwrap_or_else(|| panic!("no {heading}")).1;
    from.split_once("<h2").unwrap().0
}

#[test]
fn rules_accounts_and_clusters_come_before_the_findings() {
    let page = page(&fleet(30), ReportFormat::Html);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order = ["Rules by cluster", "Accounts by family of rules", "Clusters", "Findings"];
    assert!(order.array_windows().all(|[one, next]| at(&format!(">{one}</h2>")) < at(&format!(">{next}</h2>"))));
    let rules = part(&page, "Rules by cluster");
    let row = rules.lines().find(|line| line.contains("#g-subnet-foreign-cluster-tag")).unwrap();
    assert!(
        row.contains("<td>10 of 30</td>") && row.contains("data-find=\"c-0000\"") && row.contains(" and 6 more"),
        "{row}"
    );
    assert!(page.contains("id=\"g-subnet-foreign-cluster-tag\""), "the link leads somewhere");
    // 15 accounts, of which a third of their clusters are broken: every account but those with two clean ones.
    let accounts = part(&page, "Accounts by family of rules");
    assert_eq!(accounts.matches("<tr><td class=\"id\">").count(), 10);
    assert!(
        accounts.contains("5 accounts without findings") && accounts.contains("100000000002 (team-2)"),
        "{accounts}"
    );
    assert!(accounts.contains("<td class=\"hot error\">"), "{accounts}");
    let clusters = part(&page, "Clusters");
    assert_eq!(clusters.matches("<tr><td>").count(), 10);
    assert!(clusters.contains("20 clusters without findings"), "{clusters}");
}

#[test]
fn one_cluster_has_no_tables_to_compare() {
    let page = page(&fleet(1), ReportFormat::Html);
    assert!(!page.contains("Rules by cluster") && !page.contains("Accounts by family") && page.contains(">Clusters<"));
}

#[test]
fn hundreds_of_clusters_are_a_small_page() {
    let page = page(&fleet(350), ReportFormat::Html);
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

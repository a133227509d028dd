//! Commands that only print what the tool knows: rules, baselines, permissions.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::json;

use crate::baseline::EMBEDDED;
use crate::inventory::Provider;
use crate::kubernetes::List;
use crate::kubernetes::arguments::{NodeArguments, Started};
use crate::permissions;
use crate::policy::RAM;
use crate::render::{self, layout, rule_page};
use crate::rules::{self, RULES, Rule};
use crate::text;

use super::failure::Failure;
use super::input::unknown_rule;
use super::{
    BaselineCommand, ExplainArgs, ExplainFormat, PermissionsArgs, PermissionsFormat, ProviderName, RulesArgs,
    RulesFormat,
};

pub(super) fn rules(args: &RulesArgs, width: usize, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        RulesFormat::Table => {
            let mut table = layout(width, &["rule", "cloud", "what is wrong", "severity", "fix"]);
            for rule in RULES.iter() {
                let clouds: Vec<&str> = rule.providers().iter().map(|provider| provider.name()).collect();
                let (severity, fix) = (rule.severity.default.name(), rule.applicability.name());
                table.add_row([rule.id, &clouds.join(", "), rule.title, severity, fix]);
            }
            writeln!(out, "{table}")
        }
        RulesFormat::Json => {
            let rules: Vec<_> = RULES.iter().map(|rule| rule_json(rule)).collect();
            serde_json::to_writer_pretty(&mut *out, &json!({"schema": "tagaudit.rules/1", "rules": rules}))?;
            writeln!(out)
        }
        RulesFormat::Markdown => out.write_all(rules_markdown().as_bytes()),
    }
}

fn rule_json(rule: &Rule) -> serde_json::Value {
    json!({
        "id": rule.id,
        "providers": rule.providers().iter().map(|provider| provider.name()).collect::<Vec<_>>(),
        "title": rule.title,
        "severity": rule.severity.default,
        "severity_note": rule.severity.note,
        "resources": rule.resources.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
        "condition": rule.condition,
        "impact": rule.impact,
        "fix": rule.fix,
        "applicability": rule.applicability.name(),
        "sources": rule.sources,
        "example": rule.example,
    })
}

/// `docs/rules.md`: the whole catalogue.
#[must_use]
pub fn rules_markdown() -> String {
    let mut page = String::from(
        "# Rules\n\nMade by `tagaudit rules --format markdown`; a test keeps it in step. What one rule says about itself is also `tagaudit explain RULE`.\n",
    );
    for provider in [Provider::Aws, Provider::Alibaba] {
        let _ = writeln!(
            page,
            "\n**{}**\n\n| rule | what is wrong | severity | fix |\n|---|---|---|---|",
            provider.describe()
        );
        for rule in rules::for_provider(&RULES, provider) {
            let _ = writeln!(
                page,
                "| [`{0}`](#{0}) | {1} | {2} | {3} |",
                rule.id,
                rule.title,
                rule.severity.describe(),
                rule.applicability.name()
            );
        }
    }
    for rule in RULES.iter() {
        page.push('\n');
        page.push_str(&rule_page::markdown(rule));
    }
    page
}

pub(super) fn explain(args: &ExplainArgs, width: usize, out: &mut dyn Write) -> Result<io::Result<()>, Failure> {
    if let Some(name) = &args.effective {
        return explain_effective(name, args, width, out);
    }
    let asked = args.rule.as_deref().unwrap_or_default();
    let Some(rule) = rules::find(asked) else {
        return Err(unknown_rule(asked));
    };
    Ok(match args.format {
        ExplainFormat::Json => serde_json::to_writer_pretty(&mut *out, &rule_json(rule))
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        ExplainFormat::Markdown => out.write_all(rule_page::markdown(rule).as_bytes()),
        ExplainFormat::Text => explain_text(rule, width, out),
    })
}

/// What nodes are started with.
fn explain_effective(
    name: &str,
    args: &ExplainArgs,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    if args.format == ExplainFormat::Markdown {
        return Err(Failure::usage("what a node is started with is written as text or JSON"));
    }
    let evidence = super::kubernetes_files::evidence(&args.kubernetes)?;
    let is_asked = |one: &&NodeArguments| match &one.started {
        Started::Node(found) => found == name,
        Started::Declared { .. } => one.started.name().contains(name),
    };
    let found: Vec<&NodeArguments> = evidence.arguments().iter().filter(is_asked).collect();
    if found.is_empty() {
        let names: Vec<String> = evidence.arguments().iter().map(|one| one.started.name().into_owned()).collect();
        let help = if names.is_empty() {
            "only Nodes of RKE2 and K3s and configurations say what nodes are started with".to_owned()
        } else {
            format!("these are known: {}", text::list(&names, 8))
        };
        return Err(Failure::usage(format!("nothing says what `{name}` is started with")).help(help));
    }
    Ok(match args.format {
        ExplainFormat::Json => serde_json::to_writer_pretty(&mut *out, &render::effective_json(&found))
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out)),
        ExplainFormat::Text | ExplainFormat::Markdown => render::effective(&found, width, out),
    })
}

fn explain_text(rule: &Rule, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}: {}", rule.id, rule.title)?;
    let breaks = format!("{}.", rule_page::capitalised(rule.impact));
    let fix = format!("[{}] {}", rule.applicability.name(), rule.fix);
    let resources: Vec<&str> = rule.resources.iter().map(|kind| kind.name()).collect();
    let resources = resources.join(", ");
    let clouds: Vec<&str> = rule.providers().iter().map(|provider| provider.describe()).collect();
    let clouds = clouds.join(", ");
    let sections = [
        ("Cloud", clouds.as_str()),
        ("Severity", rule.severity.describe()),
        ("Resources", &resources),
        ("Reports when", rule.condition),
        ("What breaks", &breaks),
        ("Fix", &fix),
        ("For example", rule.example),
    ];
    for (title, body) in sections {
        writeln!(out, "\n{title}")?;
        for line in text::wrap(body, width, "  ", "  ") {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out, "\nDecided in")?;
    for source in rule.sources {
        writeln!(out, "  {source}")?;
        if let Some(link) = rule_page::link(source).filter(|link| link != source) {
            writeln!(out, "    {link}")?;
        }
    }
    Ok(())
}

pub(super) fn baseline(
    command: &BaselineCommand,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    match command {
        BaselineCommand::List => {
            let mut table = layout(width, &["baseline", "for", "language", "actions", "versions", "source"]);
            for embedded in EMBEDDED {
                let actions = embedded.baseline(None).map_or(0, |baseline| baseline.actions.len());
                let node_role = embedded.node_role.name();
                let (language, actions) = (embedded.dialect.name, actions.to_string());
                table.add_row([embedded.name, node_role, language, &actions, embedded.versions, embedded.source]);
            }
            Ok(writeln!(out, "{table}"))
        }
        BaselineCommand::Show { name, controller_version } => {
            match crate::baseline::find(name) {
                Some(embedded) => {
                    if embedded.dialect.name == RAM.name {
                        super::input::check_version(Provider::Alibaba, *controller_version)?;
                    }
                    Ok(out.write_all(embedded.document(*controller_version).as_bytes()))
                }
                None => Err(Failure::usage(format!("no baseline is called `{name}`"))
                    .help("`tagaudit baseline list` names them")),
            }
        }
    }
}

pub(super) fn permissions(
    args: &PermissionsArgs,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    if args.kubernetes {
        return Ok(permissions_of_kubernetes(args, width, out));
    }
    check_roles(args)?;
    match args.provider {
        ProviderName::Aws => Ok(permissions_of_aws(args, width, out)),
        ProviderName::Alibaba if args.target_role.is_some() => {
            Err(Failure::usage("--target-role is about AWS only, so far"))
        }
        ProviderName::Alibaba if !args.cluster_id.is_empty() => {
            Err(Failure::usage("--cluster-id limits nothing in Alibaba Cloud: which tag is set is no condition there")
                .help("leave it out"))
        }
        ProviderName::Alibaba => Ok(permissions_of_alibaba(args, width, out)),
    }
}

/// The roles that a fix may be limited to are those of the cloud.
fn check_roles(args: &PermissionsArgs) -> Result<(), Failure> {
    let prefix = match args.provider {
        ProviderName::Aws => "arn:",
        ProviderName::Alibaba => "acs:",
    };
    if let Some(own) = args.own_role.as_ref().filter(|own| args.role.contains(own)) {
        return Err(Failure::usage(format!("`{own}` is the tool's own role, whose policies are never written"))
            .help("leave it out of --role"));
    }
    // ARNs of both clouds have the account in one place or the other.
    let is_of_account = |role: &String| {
        let account = role.split(':').nth(if args.provider == ProviderName::Alibaba { 3 } else { 4 });
        args.account.as_deref().is_none_or(|wanted| account == Some(wanted))
    };
    if let Some(role) = args.role.iter().chain(&args.own_role).find(|role| !is_of_account(role)) {
        return Err(Failure::usage(format!("`{role}` is of another account than --account")));
    }
    let mut roles = args.role.iter().chain(&args.own_role);
    match roles.find(|role| !role.starts_with(prefix)) {
        Some(role) => Err(Failure::usage(format!("`{role}` is not a role of the cloud that --provider names"))),
        None => Ok(()),
    }
}

fn permissions_of_alibaba(args: &PermissionsArgs, width: usize, out: &mut dyn Write) -> io::Result<()> {
    match (args.format, args.fix) {
        (PermissionsFormat::Policy, true) => out.write_all(permissions::fix_policy_alibaba(&limits(args)).as_bytes()),
        (PermissionsFormat::Policy, false) => out.write_all(permissions::scan_policy_alibaba().as_bytes()),
        (PermissionsFormat::Table, true) => {
            permissions_table(permissions::FIX_ALIBABA.iter(), "not fixed without it", width, out)
        }
        (PermissionsFormat::Table, false) => {
            permissions_table(permissions::SCAN_ALIBABA.iter(), "not audited without it", width, out)
        }
    }
}

fn permissions_of_kubernetes(args: &PermissionsArgs, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (namespace, name) = &args.service_account;
    match args.format {
        PermissionsFormat::Policy => out.write_all(permissions::of_kubernetes(namespace, name).as_bytes()),
        PermissionsFormat::Table => {
            let mut table = layout(width, &["right", "where", "for"]);
            for list in List::ALL {
                let names = list.names().join(", ");
                let what = if names.is_empty() { String::new() } else { format!(": {names}") };
                let right = format!("{} {}{what}", list.verb(), list.resource());
                table.add_row([right.as_str(), list.namespace().unwrap_or("the cluster"), list.purpose()]);
            }
            writeln!(out, "{table}")
        }
    }
}

fn limits(args: &PermissionsArgs) -> permissions::FixLimits {
    permissions::FixLimits {
        partition: args.partition.clone(),
        account_id: args.account.clone(),
        cluster_ids: args.cluster_id.clone(),
        roles: args.role.clone(),
        own_role: args.own_role.clone(),
    }
}

/// Columns from which on the longest name of an action leaves room for the others.
const ROOM_FOR_ACTIONS: usize = 80;

fn permissions_table<'p>(
    listed: impl Iterator<Item = &'p permissions::Permission>,
    without: &str,
    width: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = layout(width, &["action", "for", without]);
    for permission in listed {
        table.add_row([permission.action, permission.purpose, permission.without.unwrap_or("everything")]);
    }
    // A name that is cut cannot be searched for or copied.
    if let Some(actions) = table.column_mut(0).filter(|_| width >= ROOM_FOR_ACTIONS) {
        actions.set_constraint(comfy_table::ColumnConstraint::ContentWidth);
    }
    writeln!(out, "{table}")
}

fn permissions_of_aws(args: &PermissionsArgs, width: usize, out: &mut dyn Write) -> io::Result<()> {
    match args.format {
        PermissionsFormat::Policy if args.fix => out.write_all(permissions::fix_policy(&limits(args)).as_bytes()),
        PermissionsFormat::Policy => out.write_all(
            match &args.target_role {
                Some(role) => permissions::many_policy(&args.partition, role, args.organization).into_bytes(),
                None => permissions::scan_policy().into_bytes(),
            }
            .as_slice(),
        ),
        PermissionsFormat::Table => {
            let without = if args.fix { "not fixed without it" } else { "not audited without it" };
            let listed = if args.fix { permissions::FIX } else { permissions::SCAN };
            let many = permissions::MANY.iter().filter(|permission| match permission.action {
                "organizations:ListAccounts" => args.organization,
                _ => args.target_role.is_some(),
            });
            permissions_table(listed.iter().chain(many), without, width, out)
        }
    }
}

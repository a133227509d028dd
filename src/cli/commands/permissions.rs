//! `tagaudit permissions`: the rights that tagaudit itself needs.

use std::collections::BTreeSet;
use std::io::{self, Write};

use crate::kubernetes::List;
use crate::permissions::{self, Permission};
use crate::policy::{Dialect, IAM, NamedDocument, RAM};
use crate::render::layout;
use crate::text;

use crate::cli::args::ProviderName;
use crate::cli::args::catalogue::{PermissionsArgs, PermissionsFormat, WithoutReads};
use crate::cli::io::failure::Failure;
use crate::cli::io::input;
use crate::cli::io::output::note;

/// The rights for one task.
struct Rights {
    /// The policy document.
    policy: String,
    listed: Vec<&'static Permission>,
    /// Head of the column of checks and writes that need each right.
    without: &'static str,
}

pub(in crate::cli) fn permissions(
    args: &PermissionsArgs,
    width: usize,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    if args.kubernetes {
        return Ok(kubernetes_permissions(args, width, out));
    }
    check_roles(args)?;
    let (rights, dialect) = match args.provider {
        ProviderName::Aws if args.audit_trail => {
            return Err(Failure::usage("--audit-trail is for Alibaba Cloud").help("omit it, or add --provider alibaba"));
        }
        ProviderName::Aws => (aws(args), &IAM),
        ProviderName::Alibaba => {
            check_alibaba(args)?;
            (alibaba(args), &RAM)
        }
    };
    let Some(rights) = beyond_attached(args, rights, dialect)? else { return Ok(Ok(())) };
    Ok(match args.format {
        PermissionsFormat::Policy => out.write_all(rights.policy.as_bytes()),
        PermissionsFormat::Table => permissions_table(&rights, width, out),
    })
}

/// The rights that the attached policies do not grant; `None` if they grant all.
fn beyond_attached(
    args: &PermissionsArgs,
    mut rights: Rights,
    dialect: &'static Dialect,
) -> Result<Option<Rights>, Failure> {
    if args.since.is_empty() {
        return Ok(Some(rights));
    }
    let read = |path| input::policy_document(path, "policy", dialect);
    let attached = args.since.iter().map(|path| read(path)).collect::<Result<Vec<NamedDocument>, _>>()?;
    attached.iter().try_for_each(check_identity_policy)?;
    let partition = if args.provider == ProviderName::Aws { args.partition.as_str() } else { "" };
    let beyond = permissions::beyond(&rights.policy, &attached, dialect, partition);
    if !beyond.denied.is_empty() {
        let denied: Vec<&str> = beyond.denied.iter().map(String::as_str).collect();
        let denied = text::list(&denied, 8);
        note(&format!("the policies deny {denied}, at least in part: no further statement can allow that"));
    }
    let Some(policy) = beyond.policy else {
        if beyond.denied.is_empty() {
            note("the policies grant everything that is needed");
        }
        return Ok(None);
    };
    let lacking: BTreeSet<String> = beyond.lacking;
    rights.listed.retain(|permission| lacking.contains(permission.action));
    Ok(Some(Rights { policy, ..rights }))
}

/// Refuses a policy that grants an identity nothing, such as a trust policy.
fn check_identity_policy(policy: &NamedDocument) -> Result<(), Failure> {
    let wrong = policy.document.statements.iter().find(|one| one.principal.is_some() || one.resource.is_none());
    let Some(statement) = wrong else { return Ok(()) };
    let has = if statement.principal.is_some() { "names a principal" } else { "has no resource" };
    let number = statement.index + 1;
    Err(Failure::usage(format!("the policy `{}` cannot be attached to a role or a user", policy.name))
        .cause(format!("statement {number} {has}"))
        .help("name the policies of the role that tagaudit runs as, not its trust policy"))
}

/// Refuses options without a meaning in Alibaba Cloud.
fn check_alibaba(args: &PermissionsArgs) -> Result<(), Failure> {
    if args.fix_leftovers {
        return Err(Failure::usage("--fix-leftovers supports only AWS so far"));
    }
    if args.without.is_some() {
        return Err(Failure::usage(
            "--without is for AWS: in Alibaba Cloud load balancers are read only if Services are known",
        )
        .help("omit it"));
    }
    if args.fix_launch_templates {
        return Err(Failure::usage("--fix-launch-templates is for AWS").help("omit it"));
    }
    if !args.cluster_id.is_empty() {
        return Err(Failure::usage(
            "--cluster-id limits nothing in Alibaba Cloud: policies there have no condition on the tag to set",
        )
        .help("omit it"));
    }
    Ok(())
}

/// Checks that the roles to which a fix is limited belong to the cloud and the account.
fn check_roles(args: &PermissionsArgs) -> Result<(), Failure> {
    let prefix = match args.provider {
        ProviderName::Aws => "arn:",
        ProviderName::Alibaba => "acs:",
    };
    if let Some(own) = args.own_role.as_ref().filter(|own| args.role.contains(own)) {
        return Err(Failure::usage(format!("`{own}` is the tool's own role, whose policies are never written"))
            .help("remove it from --role"));
    }
    // The account is in one of two positions of an ARN, depending on the cloud.
    let is_of_account = |role: &String| {
        let account = role.split(':').nth(if args.provider == ProviderName::Alibaba { 3 } else { 4 });
        args.account.as_deref().is_none_or(|wanted| account == Some(wanted))
    };
    if let Some(role) = args.role.iter().chain(&args.own_role).find(|role| !is_of_account(role)) {
        return Err(Failure::usage(format!("`{role}` belongs to an account other than --account")));
    }
    let mut roles = args.role.iter().chain(&args.own_role);
    match roles.find(|role| !role.starts_with(prefix)) {
        Some(role) => Err(Failure::usage(format!("`{role}` is not a role of the cloud that --provider names"))),
        None => Ok(()),
    }
}

fn alibaba(args: &PermissionsArgs) -> Rights {
    if args.fix {
        return Rights {
            policy: permissions::fix_policy_alibaba(&limits(args)),
            listed: permissions::FIX_ALIBABA.iter().collect(),
            without: "not fixed without it",
        };
    }
    let reads = permissions::ReadsAlibaba {
        audit_trail: args.audit_trail,
        target_role: args.target_role.as_deref(),
        organization: args.organization,
    };
    Rights { policy: reads.policy(), listed: reads.listed().collect(), without: "not audited without it" }
}

fn aws(args: &PermissionsArgs) -> Rights {
    let fixing = |policy: String, listed: &'static [Permission], without: &'static str| Rights {
        policy,
        listed: listed.iter().collect(),
        without,
    };
    if args.fix {
        return fixing(permissions::fix_policy(&limits(args)), permissions::FIX, "not fixed without it");
    }
    if args.fix_leftovers {
        return fixing(permissions::leftovers_policy(&limits(args)), permissions::LEFTOVERS, "not deleted without it");
    }
    if args.fix_launch_templates {
        let policy = permissions::launch_templates_policy(&limits(args));
        return fixing(policy, permissions::LAUNCH_TEMPLATES, "not fixed without it");
    }
    let without = "not audited without it";
    if args.without == Some(WithoutReads::Balancers) {
        let listed = permissions::without_balancers().collect();
        return Rights { policy: permissions::scan_policy_without_balancers(), listed, without };
    }
    let many = permissions::MULTI_ACCOUNT.iter().filter(|permission| match permission.action {
        "organizations:ListAccounts" => args.organization,
        _ => args.target_role.is_some(),
    });
    let why = permissions::WHY.iter().filter(|_| args.why);
    let policy = match &args.target_role {
        _ if args.why => permissions::why_policy(),
        Some(role) => permissions::organization_policy(&args.partition, role, args.organization),
        None => permissions::scan_policy(),
    };
    Rights { policy, listed: permissions::SCAN.iter().chain(many).chain(why).collect(), without }
}

fn kubernetes_permissions(args: &PermissionsArgs, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let (namespace, name) = &args.service_account;
    match args.format {
        PermissionsFormat::Policy => out.write_all(permissions::kubernetes_roles(namespace, name, args.why).as_bytes()),
        PermissionsFormat::Table => {
            let mut table = layout(width, &["right", "where", "for"]);
            for list in List::ALL {
                let names = list.names().join(", ");
                let what = if names.is_empty() { String::new() } else { format!(": {names}") };
                let right = format!("{} {}{what}", list.verb(), list.resource());
                table.add_row([right.as_str(), list.namespace().unwrap_or("the cluster"), list.purpose()]);
            }
            for one in permissions::WHY_KUBERNETES.iter().filter(|_| args.why) {
                table.add_row([format!("{} {}", one.verb, one.resource).as_str(), "the cluster", one.purpose]);
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

/// Minimum width, in columns, at which the longest action name leaves room for the other columns.
const ROOM_FOR_ACTIONS: usize = 80;

fn permissions_table(rights: &Rights, width: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut table = layout(width, &["action", "for", rights.without]);
    for permission in &rights.listed {
        table.add_row([permission.action, permission.purpose, permission.without.unwrap_or("everything")]);
    }
    // A name that is broken cannot be searched for or copied.
    if let Some(actions) = table.column_mut(0).filter(|_| width >= ROOM_FOR_ACTIONS) {
        actions.set_constraint(comfy_table::ColumnConstraint::ContentWidth);
    }
    writeln!(out, "{table}")
}

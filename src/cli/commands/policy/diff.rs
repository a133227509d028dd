//! `tagaudit policy diff`.

use std::path::Path;

use crate::baseline::Baseline;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files;
use crate::cli::io::input;
use crate::cli::io::output::note;
use crate::policy::templates::{self, FoundPolicy, FoundRole, Pseudo, Use};
use crate::policy::{
    self, Dialect, Document, Environment, NamedDocument, PolicySet, PreparedPolicies, Question, Verdict, control_levels,
};
use crate::report::{ActionReport, PolicyDiff, RoleReport};

use super::eval::context;
use crate::cli::args::policy::DiffArgs;

/// Policies and roles of a file, with names that include the file.
pub(super) fn found(path: &Path, pseudo: &Pseudo) -> Result<templates::Found, Failure> {
    let text = files::read_text(path, templates::MAX_TEMPLATE_BYTES, "policy")?;
    let shown = path.display().to_string();
    let mut found = templates::find(&text, pseudo).map_err(|error| {
        Failure::usage(format!("cannot read the policy `{shown}`")).cause(error.to_string()).help(
            "name a policy document, the output of `terraform show -json PLAN`, or a CloudFormation or ROS template",
        )
    })?;
    let name = |policy: &mut FoundPolicy| {
        if policy.used_as != Use::Missing {
            policy.address =
                if policy.address.is_empty() { shown.clone() } else { format!("{shown}: {}", policy.address) };
        }
    };
    for role in &mut found.roles {
        role.address = format!("{shown}: {}", role.address);
        role.policies.iter_mut().chain(&mut role.boundary).for_each(name);
    }
    found.policies.iter_mut().for_each(name);
    for unknown in &mut found.unknown {
        *unknown = format!("{shown}: {unknown}");
    }
    if found.is_template && found.all().is_empty() && found.roles.is_empty() {
        note(&format!("no policies found in {shown}"));
    }
    Ok(found)
}

pub(super) fn parse(policy: &FoundPolicy, dialect: &'static Dialect) -> Result<NamedDocument, Failure> {
    let document = policy.evaluable(dialect).map_err(|error| {
        Failure::usage(format!("the policy `{}` cannot be evaluated", policy.address))
            .cause(error.to_string())
            .help("`tagaudit policy lint` shows the place")
    })?;
    Ok(NamedDocument { name: policy.address.clone(), document })
}

/// The baseline, which decides the language, and the actions of that language.
fn read_baseline(args: &DiffArgs) -> Result<(Baseline, input::ChosenCatalogue), Failure> {
    let baseline = input::named_baseline(&args.baseline, args.controller_version)?;
    let of = baseline.document.dialect;
    let catalogue = input::language(&args.language, Some(of))?;
    if of != catalogue.dialect {
        let message =
            format!("the baseline `{}` is a policy of {}, not of {}", baseline.name, of.name, catalogue.dialect.name);
        return Err(Failure::usage(message));
    }
    if of.has_resource_groups && args.boundary.is_some() {
        return Err(Failure::usage("RAM has no permissions boundaries").help("control policies are given with --scp"));
    }
    Ok((baseline, catalogue))
}

/// True if a baseline names the account or region of a resource: the compared resources may then be in another.
fn names_a_place(baseline: &Document) -> bool {
    let resources = baseline.statements.iter().filter_map(|statement| statement.resource.as_ref());
    resources.flat_map(|resource| &resource.patterns).any(|pattern| {
        let mut parts = pattern.splitn(6, ':');
        let is_named = |part: Option<&str>| part.is_some_and(|part| !part.is_empty() && !part.contains('*'));
        parts.next() == Some("arn") && (is_named(parts.nth(2)) || is_named(parts.next()))
    })
}

/// Roles to compare, each with its file, and the parts that could not be read. A template yields each of its roles, and
/// each policy without a role by itself; policy documents are compared together.
fn compared(
    args: &DiffArgs,
    pseudo: &Pseudo,
    dialect: &'static Dialect,
) -> Result<(Vec<(String, FoundRole)>, Vec<String>), Failure> {
    let mut unknown = Vec::new();
    let mut roles: Vec<(String, FoundRole)> = Vec::new();
    let mut plain = FoundRole::default();
    for path in &args.policies {
        let file = path.display().to_string();
        let mut found = found(path, pseudo)?;
        // A plan may have identities of both clouds, and a baseline belongs to one.
        let before = found.roles.len() + found.policies.len();
        found.roles.retain(|role| role.dialect.is_none_or(|own| own == dialect));
        found.policies.retain(|policy| policy.dialect.is_none_or(|own| own == dialect));
        let of_others = before - found.roles.len() - found.policies.len();
        if of_others > 0 {
            note(&format!(
                "{of_others} roles, users, groups and policies of another cloud in {file} are not compared: the baseline is a policy of {}",
                dialect.name
            ));
        }
        unknown.extend(found.unknown);
        let is_template = found.is_template;
        roles.extend(found.roles.into_iter().map(|role| (file.clone(), role)));
        for policy in found.policies {
            if is_template {
                // A policy of a template without a role is compared by itself.
                let address = policy.address.clone();
                roles.push((
                    file.clone(),
                    FoundRole { address, dialect: policy.dialect, policies: vec![policy], boundary: None },
                ));
            } else {
                plain.policies.push(policy);
            }
        }
    }
    if !plain.policies.is_empty() {
        plain.address = plain.policies.iter().map(|policy| policy.address.as_str()).collect::<Vec<_>>().join(" + ");
        // For several files, the first.
        let file = plain.policies.first().map(|policy| policy.address.clone()).unwrap_or_default();
        roles.insert(0, (file, plain));
    }
    Ok((roles, unknown))
}

pub(in crate::cli) fn diff(args: &DiffArgs) -> Result<PolicyDiff, Failure> {
    let (mut baseline, catalogue) = read_baseline(args)?;
    let dialect = catalogue.dialect;
    let pseudo = Pseudo {
        partition: Some(args.partition.clone()).filter(|partition| !partition.is_empty()),
        region: match args.region.as_slice() {
            [region] => Some(region.clone()),
            _ => None,
        },
        account_id: args.account.clone(),
        is_home: !names_a_place(&baseline.document),
    };
    let boundary = args
        .boundary
        .as_deref()
        .map(|path| input::policy_document(path, "permissions boundary", dialect))
        .transpose()?;
    let scps: Vec<NamedDocument> = args
        .scp
        .iter()
        .map(|path| input::policy_document(path, "service control policy", dialect))
        .collect::<Result<_, Failure>>()?;
    let scps = control_levels(&scps);
    let environment = Environment {
        partition: args.partition.clone(),
        account_id: args.account.clone().unwrap_or_default(),
        regions: args.region.clone(),
        context: context(&args.context)?,
        ..Environment::default()
    };
    let (roles, unknown) = compared(args, &pseudo, dialect)?;
    if let Some(cluster_id) = &args.cluster_id {
        baseline = baseline.for_cluster(cluster_id);
    }
    // The context applies to the resources of the baseline too.
    let tightened = policy::tightened(&[&baseline.document], &[]);
    baseline.document = baseline.document.filled(&environment.context);
    let denies = baseline.denies();
    let mut reports = Vec::new();
    for (_, role) in &roles {
        let read = |policy: &FoundPolicy| {
            let named = parse(policy, dialect)?;
            Ok(NamedDocument { document: named.document.filled(&environment.context), ..named })
        };
        let identity = role.policies.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
        let own = role.boundary.as_ref().map(read).transpose()?;
        let set = PolicySet::for_identity(identity)
            .with_boundary(boundary.clone().or(own))
            .with_control_policies(scps.clone());
        let prepared = PreparedPolicies::new(&set);
        let actions = baseline
            .actions
            .iter()
            .map(|action| {
                let (resources, conditions): (Vec<String>, Vec<_>) =
                    baseline.required_scopes(action).into_iter().unzip();
                let question =
                    Question { action, resources: &resources, conditions: &conditions, except: denies.as_ref() };
                ActionReport::new(action, &prepared.assess(question, &environment, &catalogue))
            })
            .collect();
        let beyond = policy::excess(&set, &prepared, &baseline.needs(), &environment, &catalogue);
        reports.push(RoleReport {
            actions,
            ..RoleReport::from_policies(role.address.clone(), baseline.name.clone(), &beyond, &tightened)
        });
    }
    Ok(PolicyDiff::new(reports, roles.into_iter().map(|(file, _)| file).collect(), unknown))
}

/// Exit code of a comparison: 1 if something in the baseline is not granted.
pub(in crate::cli) fn diff_exit(diff: &PolicyDiff) -> Exit {
    let verdicts = || diff.roles.iter().flat_map(|role| &role.actions).map(|action| action.verdict);
    if verdicts().any(|verdict| matches!(verdict, Verdict::Missing | Verdict::Denied | Verdict::Partial)) {
        Exit::Findings
    } else if !diff.unknown.is_empty() || verdicts().any(|verdict| verdict == Verdict::Undecided) {
        Exit::Incomplete
    } else {
        Exit::Clean
    }
}

//! Reads the operator's input: inventories, node lists, baselines.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::alibaba::roles;
use crate::baseline::{self, Baseline};
use crate::config;
use crate::controller::companion::NamedVersion;
use crate::controller::{self, ControllerVersion};
use crate::estate::Estate;
use crate::inventory::{MAX_INVENTORY_BYTES, Provider, is_recorded};
use crate::nodes::{self, KubernetesNode};
use crate::policy::{self, Catalogue, CatalogueError, Dialect, Document, NamedDocument, RAM};
use crate::prices::Prices;
use crate::provider::{self, cli_output};
use crate::report::{Keep, Report, ReportError, ReportSet};
use crate::role_audit::RoleAuditOptions;
use crate::rules::{self, RULES, Rule};
use crate::target::{self, Target};

use crate::cli::args::command::ScanArgs;
use crate::cli::args::policy::{DialectName, LanguageArgs};
use crate::cli::args::{AuditArgs, EvidenceArgs, ProviderName, SourceArgs};
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files::{MAX_NODES_BYTES, read_bytes, read_text};
const MAX_REPORT_BYTES: u64 = 1 << 30;
const MAX_BASELINE_BYTES: u64 = 1 << 20;
const MAX_CATALOGUE_BYTES: u64 = 64 << 20;

/// Reads a recorded inventory or a folder of CLI output, of the requested cloud.
pub(in crate::cli) fn estate(path: &Path, source: &SourceArgs) -> Result<Estate, Failure> {
    let mut estate = recorded(path, source.provider, &source.connection.region)?;
    if let Some(asked) = source.provider.map(Provider::from).filter(|asked| *asked != estate.provider()) {
        let message = format!(
            "`{}` is an inventory of {}, but --provider is {}",
            path.display(),
            estate.provider().describe(),
            asked.name()
        );
        return Err(Failure::usage(message));
    }
    if !path.is_dir() && !source.connection.region.is_empty() {
        estate
            .retain_regions(&source.connection.region)
            .map_err(|missing| Failure::usage(format!("`{}` holds {missing}", path.display())))?;
    }
    Ok(estate)
}

/// Reads a recorded inventory or a folder of CLI output, of either cloud.
pub(in crate::cli) fn recorded(
    path: &Path,
    provider: Option<ProviderName>,
    regions: &[String],
) -> Result<Estate, Failure> {
    if path.is_dir() {
        let region = match regions {
            [] => None,
            [one] => Some(one.as_str()),
            _ => {
                return Err(Failure::usage(
                    "a folder of CLI output holds one region, but --region is given several times",
                ));
            }
        };
        let is_of_aws = provider == Some(ProviderName::Aws);
        if !is_of_aws && provider::alibaba::folder::is_one(path) {
            return provider::alibaba::folder::read(path, region).map(Estate::Alibaba).map_err(|error| {
                let help = match error {
                    provider::alibaba::folder::FolderError::NoAccount { .. } => {
                        "add the output of `aliyun sts GetCallerIdentity` as sts-GetCallerIdentity.json"
                    }
                    provider::alibaba::folder::FolderError::NoRegion { .. } => "name it with --region",
                    _ => "each file holds the JSON output of the `aliyun` command of its name; see docs/alibaba.md",
                };
                Failure::from_error(Exit::Usage, &error).help(help)
            });
        }
        return cli_output::read(path, region).map(Estate::Aws).map_err(|error| {
            let help = match error {
                cli_output::FolderError::NoAccount { .. } => {
                    "add the output of `aws sts get-caller-identity` as get-caller-identity.json"
                }
                cli_output::FolderError::NoRegion { .. } => "name it with --region",
                _ => "each file holds the JSON output of the AWS CLI command of its name; see docs/offline.md",
            };
            Failure::from_error(Exit::Usage, &error).help(help)
        });
    }
    inventory(path, &read_bytes(path, MAX_INVENTORY_BYTES, "inventory")?)
}

fn inventory(path: &Path, bytes: &[u8]) -> Result<Estate, Failure> {
    Estate::from_slice(&path.display().to_string(), bytes).map_err(|error| {
        Failure::from_error(Exit::Usage, &error)
            .help("write one with `tagaudit record -o FILE`, or name a folder of AWS CLI or `aliyun` output")
    })
}

/// Reads a file if it is a recorded inventory.
pub(in crate::cli) fn if_recorded(path: &Path) -> Result<Option<Estate>, Failure> {
    let bytes = read_bytes(path, MAX_INVENTORY_BYTES, "file")?;
    if is_recorded(&bytes) { inventory(path, &bytes).map(Some) } else { Ok(None) }
}

/// Reads a saved report of one cluster or of many, as a set.
pub(in crate::cli) fn report_set(path: &Path) -> Result<ReportSet, Failure> {
    let bytes = read_bytes(path, MAX_REPORT_BYTES, "report")?;
    ReportSet::from_slice(&path.display().to_string(), &bytes).map_err(|error| unread_report(&error))
}

/// Reads a saved report to merge it. What cannot be read twice stays whole.
pub(in crate::cli) fn report_to_merge(path: &Path, keep: Keep<'_>) -> Result<ReportSet, Failure> {
    let bytes = read_bytes(path, MAX_REPORT_BYTES, "report")?;
    let keep = if path.is_file() { keep } else { Keep::Whole };
    ReportSet::to_merge(path, &bytes, keep).map_err(|error| unread_report(&error))
}

/// A saved report, of one cluster or of many.
pub(in crate::cli) enum SavedReport {
    One(Box<Report>),
    Many(Box<ReportSet>),
}

/// Reads a saved report as it is.
pub(in crate::cli) fn saved(path: &Path) -> Result<SavedReport, Failure> {
    let bytes = read_bytes(path, MAX_REPORT_BYTES, "report")?;
    let file = path.display().to_string();
    if ReportSet::is_one(&bytes) {
        return ReportSet::from_slice(&file, &bytes)
            .map(|set| SavedReport::Many(Box::new(set)))
            .map_err(|error| unread_report(&error));
    }
    Report::from_slice(&file, &bytes)
        .map(|report| SavedReport::One(Box::new(report)))
        .map_err(|error| unread_report(&error))
}

fn unread_report(error: &ReportError) -> Failure {
    let help = "write one with `tagaudit scan --format json -o FILE`";
    Failure::from_error(Exit::Usage, error).help(help)
}

/// `--targets`: a list in JSON, or the targets of a configuration.
pub(in crate::cli) fn targets(path: &Path) -> Result<Vec<Target>, Failure> {
    let bytes = read_bytes(path, target::MAX_BYTES, "list of targets")?;
    let file = path.display().to_string();
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml")) {
        let config = crate::cli::args::config::parse(&file, &bytes)?;
        if config.targets.is_empty() {
            return Err(
                Failure::usage(format!("`{file}` names no target")).help("write `[[target]]` and its `account`")
            );
        }
        return Ok(config.targets);
    }
    Target::list(&file, &bytes).map_err(|error| {
        Failure::from_error(Exit::Usage, &error).help(
            "a target is {\"account\": \"111122223333\", \"role\": \"audit\", \"regions\": [], \"cluster-ids\": []}, one per line or in an array: JSON, with the account in quotation marks; or `[[target]]` in a .toml file",
        )
    })
}

/// `--prices`.
pub(in crate::cli) fn prices(path: Option<&Path>) -> Result<Option<Prices>, Failure> {
    let Some(path) = path else { return Ok(None) };
    let text = read_text(path, config::MAX_PRICES_BYTES, "list of prices")?;
    let file = path.display().to_string();
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let read = config::prices(&file, text).map_err(|error| {
        let failure = Failure::usage(format!("cannot use the prices `{file}`")).cause(error.to_string());
        match error.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    });
    read.map(Some)
}

pub(in crate::cli) fn nodes(path: &Path) -> Result<Vec<KubernetesNode>, Failure> {
    let bytes = read_bytes(path, MAX_NODES_BYTES, "node list")?;
    nodes::parse(&path.display().to_string(), &bytes)
        .map_err(|error| Failure::from_error(Exit::Usage, &error).help("write it with `kubectl get nodes -o json`"))
}

/// Checks that at most one option reads standard input; `objects` are paths that are given without an option.
pub(in crate::cli) fn check_stdin(
    evidence: &EvidenceArgs,
    source: &SourceArgs,
    (objects, prices): (&[PathBuf], Option<&Path>),
) -> Result<(), Failure> {
    let stdin = Path::new("-");
    let of_kubernetes = evidence.kubernetes.iter().map(|path| ("--kubernetes", path.as_path()));
    let named =
        [("--nodes", evidence.nodes.as_deref()), ("--inventory", source.inventory.as_deref()), ("--prices", prices)];
    let named = named.into_iter().filter_map(|(option, path)| Some((option, path?)));
    let given = named.chain(of_kubernetes).chain(objects.iter().map(|path| ("FILE", path.as_path())));
    let reading: Vec<&str> = given.filter(|(_, path)| *path == stdin).map(|(option, _)| option).collect();
    match reading.as_slice() {
        [one, other, ..] => Err(Failure::usage(format!("{one} and {other} cannot both read standard input"))),
        _ => Ok(()),
    }
}

/// Refuses two versions of one controller.
pub(in crate::cli) fn check_versions(option: &str, versions: &[NamedVersion]) -> Result<(), Failure> {
    for (at, one) in versions.iter().enumerate() {
        if versions.iter().take(at).any(|other| other.companion == one.companion) {
            return Err(Failure::usage(format!("`{option} {one}` gives a second version for the same controller"))
                .help("give one version per controller: `VERSION` for the cloud controller, `NAME=VERSION` for another, such as `lbc=2.13`"));
        }
    }
    Ok(())
}

/// `--baseline`, each `ROLE=NAME|FILE`.
pub(in crate::cli) fn baselines(args: &AuditArgs) -> Result<RoleAuditOptions, Failure> {
    check_versions("--controller-version", &args.evidence.controller_version)?;
    check_versions("--target-controller", &args.target.target_controller)?;
    let mut baselines = RoleAuditOptions {
        controller_version: args.cloud_controller_version(),
        target_controller: crate::kubernetes::Target::from(&args.target).controller,
        without: args.without.iter().filter_map(|one| one.controller()).collect(),
        controller_roles: args.rights.controller_role.clone(),
        credentials_elsewhere: args.rights.controller_credentials.is_some(),
        ..RoleAuditOptions::default()
    };
    for arn in &args.rights.controller_role {
        if roles::named(arn).is_some() {
            continue;
        }
        let parts: Vec<&str> = arn.splitn(6, ':').collect();
        let is_role = matches!(parts.as_slice(), ["arn", _, "iam", "", account, resource]
            if account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit())
                && resource.strip_prefix("role/").is_some_and(|name| !name.is_empty()));
        if !is_role {
            return Err(Failure::usage(format!("`--controller-role {arn}` is not the ARN of a role"))
                .help("for example --controller-role arn:aws:iam::111122223333:role/cloud-controller, or acs:ram::1234567890123456:role/cloud-controller"));
        }
    }
    for argument in &args.baseline {
        let Some((role, name)) = argument.split_once('=') else {
            return Err(Failure::usage(format!("`--baseline {argument}` is not ROLE=NAME|FILE"))
                .help("for example --baseline worker=upstream-node"));
        };
        let slot = match role {
            "controlplane" | "control-plane" => &mut baselines.controlplane,
            "worker" => &mut baselines.worker,
            _ => {
                return Err(Failure::usage(format!(
                    "`{role}` in `--baseline {argument}` is neither `controlplane` nor `worker`"
                )));
            }
        };
        if slot.is_some() {
            return Err(Failure::usage(format!("--baseline {role}=… is given twice")));
        }
        *slot = Some(named_baseline(name, args.cloud_controller_version())?);
    }
    if let Some(path) = &args.catalogue.catalogue {
        baselines.catalogue = Some(own_catalogue(path)?);
    }
    for path in &args.rights.scp {
        baselines.scps.push(policy_document(path, "control policy", None)?);
    }
    Ok(baselines)
}

/// Reads a policy document from a file, named after the file: in the given language, or in the one that the document
/// declares.
pub(in crate::cli) fn policy_document(
    path: &Path,
    what: &str,
    dialect: impl Into<Option<&'static Dialect>>,
) -> Result<NamedDocument, Failure> {
    let text = read_text(path, MAX_BASELINE_BYTES, what)?;
    let document = Document::parse_as(&text, dialect).map_err(|error| {
        Failure::usage(format!("the {what} `{}` is not a policy document", path.display())).cause(error.to_string())
    })?;
    Ok(NamedDocument { name: path.display().to_string(), document })
}

/// An embedded baseline, one from a file, or several combined with `+`.
pub(in crate::cli) fn named_baseline(name: &str, version: Option<ControllerVersion>) -> Result<Baseline, Failure> {
    if name.contains('+') && baseline::find(name).is_none() && !Path::new(name).exists() {
        let parts = name.split('+').map(|part| single_baseline(part, version)).collect::<Result<Vec<_>, _>>()?;
        return Ok(Baseline::merge(name, parts));
    }
    single_baseline(name, version)
}

/// Refuses a version of another cloud's controller for baselines that are computed by version.
pub(in crate::cli) fn check_version(provider: Provider, version: Option<ControllerVersion>) -> Result<(), Failure> {
    match (provider, version) {
        (Provider::Alibaba, Some(version)) => controller::alibaba::check_version(version).map_err(|error| {
            Failure::from_error(Exit::Usage, &error)
                .help("its versions are 1.9 and 2.1 to 2.14, such as --controller-version 2.14")
        }),
        (Provider::Aws | Provider::Alibaba, _) => Ok(()),
    }
}

fn single_baseline(name: &str, version: Option<ControllerVersion>) -> Result<Baseline, Failure> {
    let path = Path::new(name);
    let parsed = if let Some(embedded) = baseline::find(name) {
        if embedded.dialect.name == RAM.name {
            check_version(Provider::Alibaba, version)?;
        }
        embedded.baseline(version)
    } else if path.exists() {
        let bytes = read_bytes(path, MAX_BASELINE_BYTES, "baseline")?;
        let text =
            String::from_utf8(bytes).map_err(|_| Failure::usage(format!("the baseline `{name}` is not UTF-8")))?;
        Baseline::parse(name, text.strip_prefix('\u{feff}').unwrap_or(&text))
    } else {
        return Err(Failure::usage(format!("`{name}` is neither a baseline nor a file"))
            .help("list the baselines with `tagaudit baseline list`"));
    };
    parsed.map_err(|error| Failure::from_error(Exit::Usage, &error))
}

/// The catalogue of a command: an embedded one, or that of `--catalogue`.
pub(in crate::cli) enum ChosenCatalogue {
    Embedded(&'static Catalogue),
    Own(Arc<Catalogue>),
}

impl Deref for ChosenCatalogue {
    type Target = Catalogue;

    fn deref(&self) -> &Catalogue {
        match self {
            Self::Embedded(catalogue) => catalogue,
            Self::Own(catalogue) => catalogue,
        }
    }
}

/// Reads the catalogue of `--catalogue`.
fn own_catalogue(path: &Path) -> Result<Arc<Catalogue>, Failure> {
    let bytes = read_bytes(path, MAX_CATALOGUE_BYTES, "catalogue")?;
    let wrong = |error: CatalogueError| {
        Failure::usage(format!("cannot use the catalogue `{}`", path.display())).cause(error.to_string())
    };
    let read = Catalogue::from_slice(&bytes).map_err(wrong)?;
    read.check().map_err(wrong)?;
    Ok(Arc::new(read))
}

/// Catalogue of `--catalogue`, or of the language of `--dialect`; without both, of the language of the input, or of
/// IAM.
pub(in crate::cli) fn language(
    args: &LanguageArgs,
    found: Option<&'static Dialect>,
) -> Result<ChosenCatalogue, Failure> {
    let asked = args.dialect.map(DialectName::dialect);
    let Some(path) = &args.catalogue.catalogue else {
        return Ok(ChosenCatalogue::Embedded(Catalogue::for_dialect(asked.or(found).unwrap_or(&policy::IAM))));
    };
    let own = own_catalogue(path)?;
    match asked.or(found).filter(|dialect| own.dialect != *dialect) {
        None => Ok(ChosenCatalogue::Own(own)),
        Some(other) => {
            Err(Failure::usage(format!("the catalogue holds actions of {}, not of {}", own.dialect.name, other.name)))
        }
    }
}

/// Checks that at least one selected rule is of this cloud: a scan without rules finds nothing and proves nothing.
pub(in crate::cli) fn check_rules(args: &ScanArgs, rules: &[&'static Rule], provider: Provider) -> Result<(), Failure> {
    let of_cloud = rules::for_provider(rules, provider);
    let is_asked = |rule: &Rule| args.rule.iter().any(|pattern| policy::matches(pattern, rule.id));
    let help = format!("`tagaudit rules` lists them; only those of {} apply here", provider.describe());
    if of_cloud.is_empty() {
        return Err(Failure::usage("--skip-rule leaves no rule to check").help(help));
    }
    if !args.rule.is_empty() && !rules::for_provider(&RULES, provider).iter().any(|rule| is_asked(rule)) {
        let asked = args.rule.join("`, `");
        let message = format!("`{asked}` names no rule of {}", provider.describe());
        return Err(Failure::usage(message).help(help));
    }
    Ok(())
}

/// `--rule` and `--skip-rule` of a scan.
pub(in crate::cli) fn selected_rules(args: &ScanArgs) -> Result<Vec<&'static Rule>, Failure> {
    chosen_rules(&args.rule, &args.skip_rule)
}

/// `--rule` and `--skip-rule`.
pub(in crate::cli) fn chosen_rules(chosen: &[String], skipped: &[String]) -> Result<Vec<&'static Rule>, Failure> {
    for pattern in chosen.iter().chain(skipped) {
        if !RULES.iter().any(|rule| policy::matches(pattern, rule.id)) {
            return Err(unknown_rule(pattern));
        }
    }
    let matches = |patterns: &[String], rule: &Rule| patterns.iter().any(|pattern| policy::matches(pattern, rule.id));
    Ok(RULES
        .iter()
        .copied()
        // An id that matches nothing would silence every other rule, so this rule always runs.
        .filter(|rule| chosen.is_empty() || matches(chosen, rule) || rule.always_runs)
        .filter(|rule| !matches(skipped, rule))
        .collect())
}

/// An unknown rule id, with the closest known one.
/// Help for the name of a baseline that does not exist.
pub(in crate::cli) fn nearest_baseline(name: &str) -> String {
    const ALIKE: f64 = 0.8;
    match crate::text::most_alike(&name.to_lowercase(), crate::baseline::all().into_iter().map(|one| one.name), ALIKE) {
        Some(other) => format!("did you mean `{other}`? `tagaudit baseline list` lists them all"),
        None => "`tagaudit baseline list` lists them".to_owned(),
    }
}

pub(in crate::cli) fn unknown_rule(name: &str) -> Failure {
    let help = match rules::nearest(&name.to_lowercase()) {
        Some(id) => format!("did you mean `{id}`? `tagaudit rules` lists them all"),
        None => "`tagaudit rules` lists them".to_owned(),
    };
    Failure::usage(format!("no rule is called `{name}`")).help(help)
}

//! Files of Kubernetes that `--kubernetes` and `lint` name, and the folders among them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::overrides::OverrideBuilder;
use ignore::{DirEntry, WalkBuilder};

use crate::kubernetes::{CloudConfig, Evidence, KubernetesError, NotUtf8, Place, Source};
use crate::kubernetes_lint::KubernetesLint;
use crate::text;

use crate::cli::args::values::NamespacedName;
use crate::cli::io::failure::{Exit, Failure};
use crate::cli::io::files;
use crate::cli::io::output;

/// Maximum number of files read from a folder.
const MAX_FILES: usize = 10_000;

/// Help for a file that cannot be read as evidence.
const HOW_TO_WRITE: &str =
    "write it with `kubectl get nodes,services -A -o json`, or name manifests and configurations in YAML or JSON";

/// Largest cloud configuration that is read; a real one has a few lines.
const MAX_CLOUD_CONFIG_BYTES: u64 = 64 << 10;

/// Evidence of objects that are applied, as `option` names them: other kinds, and files without objects, are ignored.
pub(in crate::cli) fn manifests(option: &str, paths: &[PathBuf]) -> Result<Evidence, Failure> {
    let mut read = Read::default();
    for path in paths {
        read.holds_objects = false;
        read.path(path)?;
        if !read.holds_objects && read.broken.is_none() && read.lint.skipped.is_empty() {
            let path = path.display();
            return Err(Failure::usage(format!("`{option} {path}` holds no Kubernetes object"))
                .cause("an empty output, or that of a command that failed, would change nothing")
                .help("give the output of `helm template` or `kustomize build`"));
        }
    }
    if let Some(broken) = read.broken {
        return Err(broken.help("give the output of `helm template` or `kustomize build`"));
    }
    if let Some(skipped) = read.lint.skipped.first() {
        return Err(Failure::usage(format!("cannot read all of {option}: {skipped}")));
    }
    let all = read.clusters.into_values().fold(Evidence::default(), Evidence::and);
    check_accepted(&all)?;
    Ok(all.without_sources())
}

/// Checks that the API server takes all Services and Ingresses of files that are to be applied.
pub(in crate::cli) fn check_accepted(evidence: &Evidence) -> Result<(), Failure> {
    refusals(evidence).next().map_or(Ok(()), |refusal| Err(refusal.into_failure()))
}

/// Checks that the API server takes an object, as [`check_accepted`] does for all.
pub(in crate::cli) fn check_accepted_object(
    evidence: &Evidence,
    kind: &str,
    named: &NamespacedName,
) -> Result<(), Failure> {
    let document = format!("{kind} {}/{}", named.namespace, named.name);
    let bare = (named.namespace == "default").then(|| format!("{kind} {}", named.name));
    let is_it = |one: &Refusal<'_>| one.document == document || Some(&one.document) == bare.as_ref();
    refusals(evidence).find(is_it).map_or(Ok(()), |refusal| Err(refusal.into_failure()))
}

const API_SERVER: &str = "the API server";
const LISTED_BY_LINT: &str = "`tagaudit lint` lists all such objects of a file";

/// An object that cannot be applied.
struct Refusal<'e> {
    /// The program that rejects it.
    by: &'static str,
    /// `KIND NAMESPACE/NAME`.
    document: String,
    reason: String,
    place: &'e Place,
    help: &'static str,
}

impl Refusal<'_> {
    fn into_failure(self) -> Failure {
        let document = text::printable(&self.document);
        Failure::usage(format!("{} rejects {document}: {}", self.by, self.reason))
            .cause(format!("{}:{}:{}", text::printable(&self.place.file), self.place.line, self.place.column))
            .help(self.help)
    }
}

fn refusals(evidence: &Evidence) -> impl Iterator<Item = Refusal<'_>> {
    let wrong = evidence.rejected.iter().map(|one| Refusal {
        by: API_SERVER,
        document: one.document.clone(),
        reason: one.wrong.to_string(),
        place: &one.wrong.place,
        help: LISTED_BY_LINT,
    });
    let unquoted = evidence.services.iter().flatten().filter_map(|service| {
        let (key, found) = service.not_strings.first_key_value()?;
        let reason = format!("the annotation `{}` is {found} instead of a string", text::printable(key));
        let place = service.annotation_places.get(key).map_or(&service.place, |(_, value)| value);
        let document = format!("Service {}", service.full_name().trim_start_matches('/'));
        Some(Refusal { by: API_SERVER, document, reason, place, help: LISTED_BY_LINT })
    });
    let unnamed = evidence.unnamed.iter().map(|one| Refusal {
        by: "`kubectl apply`",
        document: one.document.clone(),
        reason: "it has no `metadata.name`".to_owned(),
        place: &one.place,
        help: "set `metadata.name`; only `kubectl create` accepts `generateName`",
    });
    wrong.chain(unquoted).chain(unnamed)
}

/// Evidence of all `--kubernetes` paths; files of folders that hold none are ignored.
pub(in crate::cli) fn evidence(paths: &[PathBuf]) -> Result<Evidence, Failure> {
    let mut read = Read::default();
    for path in paths {
        read.path(path)?;
    }
    match (read.broken, read.lint.skipped.first()) {
        (Some(broken), _) => Err(broken),
        (None, Some(left_out)) => Err(Failure::usage(format!("cannot read all of --kubernetes: {left_out}"))
            .help("name the files instead of the folder")),
        (None, None) => {
            let empty =
                paths.iter().map(|path| path.display().to_string()).filter(|name| read.lint.without.contains(name));
            let named: Vec<String> = empty.filter(|name| !Path::new(name).is_dir()).collect();
            if let (Some(name), true) = (named.first(), read.lint.files.is_empty()) {
                return Err(Failure::usage(format!("`{name}` holds nothing that tagaudit checks")).help(HOW_TO_WRITE));
            }
            for name in named {
                output::note(&format!("`{name}` holds nothing that tagaudit checks"));
            }
            let all = read.clusters.into_values().fold(Evidence::default(), Evidence::and);
            Ok(all.without_sources())
        }
    }
}

/// True if a file of a folder is read: YAML and JSON by name, a configuration of the AWS cloud controller by content.
pub(in crate::cli) fn is_candidate(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match extension.to_ascii_lowercase().as_str() {
        "yaml" | "yml" | "json" => true,
        "conf" | "config" | "ini" => {
            let text = files::read_bytes(path, MAX_CLOUD_CONFIG_BYTES, "file")
                .ok()
                .and_then(|all| String::from_utf8(all).ok());
            text.is_some_and(|text| CloudConfig::is_one(&text))
        }
        _ => false,
    }
}

/// True if a malformed text was written for Kubernetes: one of its lines names a kind, or an argument of a cloud
/// provider.
fn has_known_kind(bytes: &[u8]) -> bool {
    let starts = ["kind:", "\"kind\":", "- kind:", "cloud-provider", "rke2_", "kubernetes_version:"];
    String::from_utf8_lossy(bytes).lines().any(|line| {
        let line = line.trim_start();
        // A flow mapping, or JSON on one line.
        let is_flow = line.starts_with(['{', '[']) && line.contains("\"kind\"");
        is_flow || starts.iter().any(|start| line.starts_with(start))
    })
}

/// True if a text has to be rendered first, by Helm, Jinja or Terraform.
fn is_template(bytes: &[u8]) -> bool {
    ["{{", "{%", "%{"].iter().any(|mark| memchr::memmem::find(bytes, mark.as_bytes()).is_some())
}

/// True if an entry of a folder is hidden. Drop-ins are read whatever their name.
fn is_hidden(entry: &DirEntry) -> bool {
    let is_drop_in = entry.path().parent().and_then(Path::extension).is_some_and(|extension| extension == "d");
    let name = entry.file_name().to_str().unwrap_or_default();
    entry.depth() > 0 && name.starts_with('.') && !is_drop_in
}

/// True if an entry of a folder is a link into a hidden part of the folder, as the kubelet mounts the keys of a
/// `ConfigMap` or Secret. The target of any other link is read at its own place, or not at all.
/// Source: kubernetes/kubernetes `pkg/volume/util/atomic_writer.go`.
fn is_mounted(folder: &Path, entry: &DirEntry) -> bool {
    let target = || -> Option<PathBuf> {
        let (target, folder) = (entry.path().canonicalize().ok()?, folder.canonicalize().ok()?);
        let within = target.strip_prefix(folder).ok()?.to_owned();
        target.is_file().then_some(within)
    };
    let is_hidden = |within: PathBuf| {
        within
            .parent()
            .is_some_and(|folders| folders.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.')))
    };
    entry.path_is_symlink() && target().is_some_and(is_hidden)
}

/// Evidence of the files that were read so far.
#[derive(Default)]
pub(in crate::cli) struct Read<'a> {
    /// Evidence of each cluster: the files that are named, and those of each folder.
    pub(in crate::cli) clusters: BTreeMap<PathBuf, Evidence>,
    pub(in crate::cli) lint: KubernetesLint,
    /// The first file that cannot be read.
    pub(in crate::cli) broken: Option<Failure>,
    number: usize,
    /// True if a file names the kind of an object.
    holds_objects: bool,
    /// Patterns of files in folders to skip, as well as those that git ignores; `None` reads every file.
    excluded: Option<&'a [String]>,
    /// Templates of folders.
    pub(in crate::cli) templates: usize,
    /// True if files that are named may be those of other tools, as files of folders may.
    pub(in crate::cli) allows_foreign: bool,
}

impl<'a> Read<'a> {
    /// Reads folders without the files that match the patterns or that git ignores.
    pub(in crate::cli) fn without(excluded: &'a [String]) -> Self {
        Self { excluded: Some(excluded), ..Self::default() }
    }

    pub(in crate::cli) fn path(&mut self, path: &Path) -> Result<(), Failure> {
        if !path.is_dir() {
            return self.file(path, None);
        }
        let before = self.lint.files.len();
        for entry in self.walk(path)?.build() {
            let entry = entry.map_err(|error| {
                Failure::usage(format!("cannot read the folder `{}`", path.display())).cause(error.to_string())
            })?;
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if (is_file || is_mounted(path, &entry)) && is_candidate(entry.path()) {
                self.number += 1;
                if self.number > MAX_FILES {
                    return Err(Failure::usage(format!("more than {MAX_FILES} files in `{}`", path.display())));
                }
                let folder = entry.path().parent().unwrap_or(path);
                // Drop-ins belong to the file next to their folder.
                let is_of_drop_ins = folder.extension().is_some_and(|extension| extension == "d");
                let folder = folder.parent().filter(|_| is_of_drop_ins && folder != path).unwrap_or(folder);
                self.file(entry.path(), Some(folder))?;
            }
        }
        if self.lint.files.len() == before && self.lint.skipped.is_empty() && self.broken.is_none() {
            self.lint.without.push(path.display().to_string());
        }
        Ok(())
    }

    /// The files of a folder, in order.
    fn walk(&self, path: &Path) -> Result<WalkBuilder, Failure> {
        let mut walk = WalkBuilder::new(path);
        walk.standard_filters(false).sort_by_file_name(std::ffi::OsStr::cmp).filter_entry(|entry| !is_hidden(entry));
        if let Some(excluded) = self.excluded {
            let refused = |glob: &str, error: &ignore::Error| {
                Failure::usage(format!("`--exclude {glob}` is not a valid pattern"))
                    .cause(error.to_string())
                    .help("write it as in `.gitignore`: `vendor/`, `**/testdata/*.yaml`")
            };
            let mut overrides = OverrideBuilder::new(path);
            for glob in excluded {
                // A plain pattern would include files; a leading `!` excludes them.
                overrides.add(&format!("!{glob}")).map_err(|error| refused(glob, &error))?;
            }
            let overrides = overrides.build().map_err(|error| refused("", &error))?;
            walk.parents(true).git_ignore(true).git_exclude(true).require_git(false).overrides(overrides);
        }
        Ok(walk)
    }

    /// Reads a file: one that is named, or one of a folder.
    fn file(&mut self, path: &Path, folder: Option<&Path>) -> Result<(), Failure> {
        let is_named = folder.is_none();
        let name = path.display().to_string();
        let bytes = match files::read_bytes(path, files::MAX_NODES_BYTES, "file") {
            Ok(bytes) => bytes,
            Err(failure) if is_named || self.excluded.is_none() => return Err(failure),
            Err(failure) => {
                let why: Vec<String> = std::iter::once(failure.error).chain(failure.causes).collect();
                self.lint.skipped.push(why.join(": "));
                return Ok(());
            }
        };
        self.holds_objects |= has_known_kind(&bytes);
        let source = Source::decode(&name, bytes).map(Arc::new);
        let parsed = match &source {
            Ok(source) => Evidence::from_source(source),
            Err(refused) => Err(refused.into()),
        };
        let refused = match parsed {
            Ok(found) => {
                let cluster = self.clusters.entry(folder.unwrap_or(Path::new("")).to_owned()).or_default();
                *cluster = std::mem::take(cluster).and(found);
                self.lint.files.push(name);
                return Ok(());
            }
            Err(refused) => refused,
        };
        let in_repository = self.excluded.is_some();
        let bytes = source.as_ref().map_or_else(NotUtf8::bytes, |source| source.text().as_bytes());
        match refused {
            // Evidence merged from parts is valid only as a whole.
            error @ KubernetesError::Object { .. } if !is_named => self.lint.skipped.push(error.to_string()),
            KubernetesError::Nothing { .. } => self.lint.without.push(name),
            // The parts of a chart are YAML only after rendering.
            KubernetesError::Malformed { .. } if is_template(bytes) && in_repository => {
                self.templates += 1;
                self.lint.without.push(name);
            }
            KubernetesError::Malformed { .. } if is_template(bytes) => {
                self.lint.skipped.push(format!("{name}: a template: render it first, as with `helm template`"));
            }
            // A repository holds files of many tools.
            KubernetesError::Malformed { .. }
                if (!is_named || self.allows_foreign) && in_repository && !has_known_kind(bytes) =>
            {
                self.lint.without.push(name);
            }
            error if !is_named && in_repository => self.lint.skipped.push(error.to_string()),
            error => {
                let failure = Failure::from_error(Exit::Usage, &error).help(HOW_TO_WRITE);
                self.broken.get_or_insert(failure);
            }
        }
        Ok(())
    }
}

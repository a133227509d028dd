//! What stands in `deploy` is run: each file's own command line, with the environment that it gives, against the mock. Only
//! paths and the number of accounts are those of the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tagaudit::cli::Exit;
use tagaudit::internals::inventory::Inventory;

use super::binary::command;
use super::mock::Mock;
use super::worlds;

/// The token that the mock takes.
const TOKEN: &str = "token-of-the-pod";

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(name)).unwrap()
}

fn documents(name: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(&file(name)).unwrap()
}

/// The object of a kind and name.
fn object(name: &str, kind: &str, called: &str) -> Value {
    let is_meant = |one: &Value| one["kind"] == kind && one["metadata"]["name"] == called;
    documents(name).into_iter().find(is_meant).unwrap_or_else(|| panic!("{name} holds no {kind} {called}"))
}

/// The cluster of a clean world, in the account and region of the examples, and accounts beside it.
fn estate(number: usize) -> Inventory {
    let world = worlds::all().into_iter().find(|world| world.name == "clean-rke2").unwrap();
    let mut inventory = world.inventory;
    let account = inventory.accounts.remove(0);
    let text = serde_json::to_string(&account).unwrap().replace(world.cluster_id, "my-cluster");
    let account_of = |id: String| serde_json::from_str(&text.replace(&account.account_id, &id)).unwrap();
    inventory.accounts = (0..number).map(|index| account_of(account_id(index))).collect();
    for account in &mut inventory.accounts {
        let mut other = account.regions[0].clone();
        other.name = "eu-west-1".into();
        other.availability_zones.clear();
        other.instances.clear();
        other.subnets.clear();
        other.vpcs.clear();
        other.security_groups.clear();
        other.route_tables.clear();
        other.volumes.clear();
        other.network_interfaces.clear();
        other.instance_profile_associations.clear();
        account.regions.push(other);
    }
    inventory.canonicalise();
    inventory
}

/// A second group with the tag of the cluster on an instance: no load balancer works any more.
fn break_in(inventory: &mut Inventory) {
    let region = &mut inventory.accounts[0].regions[0];
    let tagged = |group: &&tagaudit::internals::inventory::SecurityGroup| {
        group.tags.iter().any(|tag| tag.key.ends_with("/my-cluster"))
    };
    let mut group = region.security_groups.iter().find(tagged).unwrap().clone();
    group.id = "sg-0123456789abcdef0".into();
    let instances = region.instances.iter_mut().filter(|instance| !instance.security_groups.is_empty());
    for instance in instances {
        instance.security_groups.push(group.id.clone());
        for interface in &mut instance.network_interfaces {
            interface.security_groups.push(group.id.clone());
        }
    }
    region.security_groups.push(group);
    inventory.canonicalise();
}

fn account_id(index: usize) -> String {
    format!("{:012}", 111_122_223_333_u64 + index as u64)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("token", TOKEN);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A text with the paths of a deployment in this folder.
    fn moved(&self, text: &str) -> String {
        let here = self.0.path().display();
        text.replace("/etc/tagaudit/tagaudit.toml", &format!("{here}/tagaudit.toml"))
            .replace("/var/lib/tagaudit/", &format!("{here}/"))
            .replace("/reports/", &format!("{here}/"))
            .replace("/var/run/secrets/aws/token", &format!("{here}/token"))
    }

    /// Runs the container of a Job's template, as the kubelet would.
    fn pod(&self, mock: &Mock, job: &Value, index: Option<usize>) -> Output {
        let container = &job["template"]["spec"]["containers"][0];
        let mut environment: BTreeMap<String, String> = BTreeMap::new();
        for variable in container["env"].as_array().into_iter().flatten() {
            let value = self.moved(variable["value"].as_str().unwrap());
            environment.insert(variable["name"].as_str().unwrap().to_owned(), value);
        }
        environment.extend(index.map(|index| ("JOB_COMPLETION_INDEX".to_owned(), index.to_string())));
        let expanded = |argument: &Value| {
            let argument = self.moved(argument.as_str().unwrap());
            environment.iter().fold(argument, |text, (name, value)| text.replace(&format!("$({name})"), value))
        };
        let arguments: Vec<String> = container["args"].as_array().unwrap().iter().map(expanded).collect();
        let mut command = command();
        command.args(&arguments).envs(&environment).env("AWS_ENDPOINT_URL", &mock.url).current_dir(self.0.path());
        command.env("KUBECONFIG", self.path("kubeconfig"));
        command.output().unwrap()
    }
}

/// What becomes of a pod that ends with a code.
fn action(job: &Value, code: u8) -> &str {
    if code == 0 {
        return "done";
    }
    let rules = job["podFailurePolicy"]["rules"].as_array().unwrap();
    let matching = rules.iter().find(|rule| {
        let values = rule["onExitCodes"]["values"].as_array();
        values.is_some_and(|values| values.iter().any(|value| value == &json!(code)))
    });
    matching.map_or("retry", |rule| rule["action"].as_str().unwrap())
}

#[test]
fn the_cronjob_audits_its_cluster_and_ends_as_a_scan_does() {
    let cron = object("kubernetes/base/cronjob.yaml", "CronJob", "tagaudit");
    let job = &cron["spec"]["jobTemplate"]["spec"];
    let configuration = object("kubernetes/base/cronjob.yaml", "ConfigMap", "tagaudit");
    let folder = Folder::new();
    // The credentials of a pod have a fixed place: here the API server is that of a kubeconfig.
    let settings = configuration["data"]["tagaudit.toml"].as_str().unwrap();
    let in_cluster = "kube-context = \"in-cluster\"\n";
    assert!(settings.contains(in_cluster) && job["template"]["spec"]["automountServiceAccountToken"] == true);
    #[cfg(feature = "kubernetes")]
    let _server = {
        let nodes = fs::read(super::fixtures::path("clean-rke2.nodes.json")).unwrap();
        let mut nodes: Value = serde_json::from_slice(&nodes).unwrap();
        for item in nodes["items"].as_array_mut().unwrap() {
            item["apiVersion"] = "v1".into();
            item["kind"] = "Node".into();
        }
        let server = super::kubernetes_api::ApiServer::serve(&nodes);
        server.kubeconfig(folder.0.path(), &json!({}));
        folder.write("tagaudit.toml", &settings.replace("in-cluster", "test"));
        server
    };
    #[cfg(not(feature = "kubernetes"))]
    folder.write("tagaudit.toml", &settings.replace(in_cluster, ""));
    let mut inventory = estate(1);
    let mock = Mock::serve(&inventory);
    let output = folder.pod(&mock, job, None);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
    assert!(stdout.starts_with("cluster  my-cluster\naccount  111122223333 in eu-central-1\n"), "{stdout}");
    assert_eq!(mock.count("sts:AssumeRoleWithWebIdentity"), 1);

    break_in(&mut inventory);
    let output = folder.pod(&Mock::serve(&inventory), job, None);
    assert_eq!(action(job, u8::try_from(output.status.code().unwrap()).unwrap()), "FailJob");
    // Asking again helps where nothing could be read, and where a pod was killed.
    let actions: Vec<(u8, &str)> = Exit::ALL.map(|exit| (exit.code(), action(job, exit.code()))).into();
    let expected = [
        (0, "done"),
        (1, "FailJob"),
        (2, "FailJob"),
        (3, "FailJob"),
        (4, "retry"),
        (5, "retry"),
        (130, "retry"),
        (143, "retry"),
    ];
    assert_eq!(actions, expected);
    assert_eq!(job["template"]["spec"]["restartPolicy"], "Never", "a failure policy asks for it");
    hardened(job, true);
}

/// The permissions of the job are those that are printed, in the manifests and in the chart.
#[test]
fn the_rights_of_the_job_are_those_that_are_printed() {
    let printed = command().args(["permissions", "--kubernetes"]).output().unwrap().stdout;
    let printed = String::from_utf8(printed).unwrap();
    for name in ["kubernetes/base/rights.yaml", "helm/tagaudit/rights.yaml"] {
        super::documents::in_step(&format!("deploy/{name}"), &printed);
    }
}

/// Checks a job against the standard of its namespace; only a job that reads the cluster has a token for it.
fn hardened(job: &Value, reads_cluster: bool) {
    let pod = &job["template"]["spec"];
    let container = &pod["containers"][0]["securityContext"];
    assert_eq!(container["readOnlyRootFilesystem"], true);
    assert_eq!(container["allowPrivilegeEscalation"], false);
    assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(
        (&pod["securityContext"]["runAsNonRoot"], &pod["automountServiceAccountToken"]),
        (&json!(true), &json!(reads_cluster))
    );
    assert!(pod["containers"][0]["resources"]["limits"]["memory"].is_string());
}

#[test]
fn the_indexed_job_is_one_run_whatever_becomes_of_its_pods() {
    let name = "kubernetes/indexed-job/indexed-job.yaml";
    let shards = object(name, "CronJob", "tagaudit-shards")["spec"]["jobTemplate"]["spec"].clone();
    let merge = object(name, "CronJob", "tagaudit-merge")["spec"]["jobTemplate"]["spec"].clone();
    let count = usize::try_from(shards["completions"].as_u64().unwrap()).unwrap();
    assert_eq!((count, &shards["completionMode"]), (16, &json!("Indexed")));
    let reports = merge["template"]["spec"]["containers"][0]["args"].as_array().unwrap().iter();
    assert_eq!(reports.filter(|argument| argument.as_str().unwrap().contains("shard-")).count(), count);

    let inventory = estate(24);
    let members =
        (0..24).map(|index| json!({"Id": account_id(index), "Name": format!("team-{index}"), "State": "ACTIVE"}));
    let mock = Mock::serve(&inventory).organization(members.collect());
    let folder = Folder::new();
    // As many at once as the Job allows; the third is evicted before it ends, and its pod never replaced.
    let parallelism = usize::try_from(shards["parallelism"].as_u64().unwrap()).unwrap();
    let indexes: Vec<usize> = (0..count).filter(|index| *index != 3).collect();
    let codes: Vec<Option<i32>> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..parallelism)
            .map(|lane| {
                let (folder, mock, shards) = (&folder, &mock, &shards);
                let mine: Vec<usize> = indexes.iter().copied().filter(|index| index % parallelism == lane).collect();
                scope.spawn(move || {
                    mine.into_iter()
                        .map(|index| folder.pod(mock, shards, Some(index)).status.code())
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert_eq!(codes, vec![Some(0); count - 1]);
    let joined = || {
        let output = folder.pod(&mock, &merge, None);
        let set: Value = serde_json::from_slice(&fs::read(folder.path("report.json")).unwrap()).unwrap();
        (output.status.code(), set, String::from_utf8(output.stdout).unwrap())
    };
    let (code, set, table) = joined();
    assert_eq!(code, Some(3), "{table}");
    assert!(table.contains("no report of shard 3 of 16 is among the files"), "{table}");
    assert!(set["summary"]["targets"]["audited"].as_u64().unwrap() < 24);
    assert_eq!(folder.pod(&mock, &shards, Some(3)).status.code(), Some(0));
    let (code, set, table) = joined();
    assert_eq!((code, &set["summary"]["targets"]["audited"]), (Some(0), &json!(24)), "{table}");
    assert!(fs::read_to_string(folder.path("report.html")).unwrap().contains("24 clusters in 24 targets"));

    // A wrong configuration ends the Job, what was not audited its index, and what may pass is tried again.
    let actions: Vec<&str> = Exit::ALL.map(|exit| action(&shards, exit.code())).into();
    assert_eq!(actions, ["done", "FailIndex", "FailJob", "FailIndex", "retry", "retry", "retry", "retry"]);
    assert!(shards["backoffLimitPerIndex"].as_u64().is_some_and(|limit| limit > 0));
    for job in [&shards, &merge] {
        hardened(job, false);
    }
}

/// The command lines of a run that a scheduler distributes.
struct Distributed {
    count: usize,
    /// That of a shard, by its index.
    shard: Box<dyn Fn(usize) -> Vec<String>>,
    merge: Vec<String>,
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// An array job of AWS Batch: each child has the same command line.
fn batch() -> Distributed {
    let stack = documents("aws-batch/array-job.yaml").remove(0);
    let command = |name: &str| texts(&stack["Resources"][name]["Properties"]["ContainerProperties"]["Command"]);
    let night = stack["Resources"]["Night"]["Properties"]["Target"]["Input"]["Fn::Sub"].as_str().unwrap();
    let night: Value = serde_json::from_str(night).unwrap();
    let shard = command("Shard");
    let count = usize::try_from(night["ArrayProperties"]["Size"].as_u64().unwrap()).unwrap();
    assert!(shard.contains(&format!("--shard=/{count}")));
    Distributed { count, shard: Box::new(move |_| shard.clone()), merge: command("Merge") }
}

/// A Map of Step Functions, with the job definitions of the array job.
fn step_functions() -> Distributed {
    let machine: Value = serde_json::from_str(&file("step-functions/map.asl.json")).unwrap();
    let range = machine["States"]["Shards"]["Parameters"]["shards.$"].as_str().unwrap();
    let last = range.strip_prefix("States.ArrayRange(0, ").and_then(|rest| rest.split_once(", 1)")).unwrap().0;
    let task = &machine["States"]["Audit"]["ItemProcessor"]["States"]["Shard"]["Parameters"];
    let array = task["ContainerOverrides"]["Command.$"].as_str().unwrap().to_owned();
    let shard = move |index: usize| {
        let parts = array.strip_prefix("States.Array(").and_then(|rest| rest.strip_suffix(')')).unwrap();
        // Each part is a text, or a text with the index in it.
        let word = |part: &str| {
            let text = part.split('\'').nth(1).unwrap();
            if part.contains("States.Format") { text.replace("{}", &index.to_string()) } else { text.to_owned() }
        };
        let parts = parts.replace(", $)", ")");
        parts.split(", ").map(word).collect()
    };
    Distributed { count: last.parse::<usize>().unwrap() + 1, shard: Box::new(shard), merge: batch().merge }
}

/// A workflow of Argo.
fn argo() -> Distributed {
    let workflow = documents("argo/workflow.yaml").remove(0);
    let templates = workflow["spec"]["workflowSpec"]["templates"].as_array().unwrap().clone();
    let template = |name: &str| templates.iter().find(|one| one["name"] == name).unwrap().clone();
    let count = template("night")["steps"][0][0]["withSequence"]["count"].as_str().unwrap().parse().unwrap();
    let arguments = texts(&template("audit")["container"]["args"]);
    let shard = move |index: usize| {
        let expanded = |text: &String| text.replace("{{inputs.parameters.shard}}", &index.to_string());
        arguments.iter().map(expanded).collect()
    };
    Distributed { count, shard: Box::new(shard), merge: texts(&template("merge")["container"]["args"]) }
}

#[test]
fn array_jobs_maps_and_workflows_are_one_run() {
    let members = |inventory: &Inventory| -> Vec<Value> {
        let of = |account: &tagaudit::internals::inventory::Account| json!({"Id": account.account_id, "Name": "team", "State": "ACTIVE"});
        inventory.accounts.iter().map(of).collect()
    };
    for (name, run) in [("batch", batch()), ("step functions", step_functions()), ("argo", argo())] {
        let inventory = estate(3);
        let mock = Mock::serve(&inventory).organization(members(&inventory));
        let folder = Folder::new();
        fs::create_dir(folder.path("shards")).unwrap();
        let start = |arguments: &[String], index: Option<usize>| {
            let moved = arguments.iter().map(|argument| {
                if argument == "/reports" { folder.0.path().display().to_string() } else { folder.moved(argument) }
            });
            let mut command = command();
            command.args(moved).current_dir(folder.0.path()).env("AWS_ENDPOINT_URL", &mock.url);
            command.env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE").env("AWS_SECRET_ACCESS_KEY", "verysecretkey");
            command.env("AWS_REGION", "eu-central-1");
            if let Some(index) = index {
                command.env("AWS_BATCH_JOB_ARRAY_INDEX", index.to_string());
            }
            command.output().unwrap()
        };
        let merged = || {
            let output = start(&run.merge, None);
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        for index in (0..run.count).filter(|index| *index != 3) {
            let output = start(&(run.shard)(index), Some(index));
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{name} {index}: {error}");
        }
        let (code, table) = merged();
        assert!(code == Some(3) && table.contains("no report of shard 3 of 16"), "{name}: {table}");
        assert_eq!(start(&(run.shard)(3), Some(3)).status.code(), Some(0), "{name}");
        let (code, table) = merged();
        assert!(code == Some(0) && table.contains("3 audited"), "{name}: {code:?} {table}");
        assert!(folder.path("report.html").is_file(), "{name}");
    }
}

/// A shell, as the runner of a pipeline or cron starts it, with the binary and credentials.
fn shell(folder: &Folder, mock: &Mock, script: &str, environment: &[(&str, &str)]) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_tagaudit"));
    let mut command = Command::new("bash");
    command
        .args(["-e", "-o", "pipefail", "-c", script])
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", binary.parent().unwrap().display()))
        .env("HOME", folder.0.path())
        .env("AWS_ENDPOINT_URL", &mock.url)
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .envs(environment.iter().copied())
        .current_dir(folder.0.path());
    command.output().unwrap()
}

const KEYS: [(&str, &str); 2] =
    [("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE"), ("AWS_SECRET_ACCESS_KEY", "verysecretkey")];

#[test]
fn the_workflow_marks_what_is_new_since_the_run_before() {
    let workflow: Value = serde_saphyr::from_str(&file("github/tagaudit.yml")).unwrap();
    let steps = workflow["jobs"]["audit"]["steps"].as_array().unwrap();
    let audit = steps.iter().find(|step| step["name"] == "audit").unwrap()["run"].as_str().unwrap();
    let folder = Folder::new();
    folder.write("tagaudit.toml", &file("tagaudit.toml"));
    folder.write("summary", "");
    let summary = folder.path("summary").display().to_string();
    let environment = [&KEYS[..], &[("GITHUB_STEP_SUMMARY", summary.as_str())]].concat();
    let mut inventory = estate(1);
    let output = shell(&folder, &Mock::serve(&inventory), audit, &environment);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    break_in(&mut inventory);
    let output = shell(&folder, &Mock::serve(&inventory), audit, &environment);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read_to_string(folder.path("summary")).unwrap().contains("**new**"));
    let log: Value = serde_json::from_slice(&fs::read(folder.path("report.sarif")).unwrap()).unwrap();
    assert_eq!(log["runs"][0]["results"][0]["baselineState"], "new");
}

#[test]
fn the_pipeline_of_gitlab_writes_its_reports() {
    let pipeline: Value = serde_saphyr::from_str(&file("gitlab/tagaudit.gitlab-ci.yml")).unwrap();
    let job = &pipeline["tagaudit"];
    let script: Vec<&str> = job["script"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let folder = Folder::new();
    folder.write("tagaudit.toml", &file("tagaudit.toml"));
    let mock = Mock::serve(&estate(1));
    let script = script.join("\n");
    let environment = [
        ("AWS_TOKEN", TOKEN),
        ("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/tagaudit"),
        ("AWS_REGION", "eu-central-1"),
    ];
    let output = shell(&folder, &mock, &script, &environment);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let wanted = job["artifacts"]["paths"].as_array().unwrap().iter().chain([&job["artifacts"]["reports"]["junit"]]);
    for name in wanted {
        assert!(folder.path(name.as_str().unwrap()).exists(), "{name}");
    }
    assert_eq!(job["allow_failure"]["exit_codes"], json!([Exit::Incomplete.code()]));
}

#[test]
fn cron_mails_on_the_nights_on_which_a_person_has_to_look() {
    let text = file("cron/tagaudit");
    let line = text.lines().find(|line| line.starts_with("17 3 ")).unwrap();
    // Minute, hour, day, month, day of the week, user.
    let script = line.splitn(7, ' ').nth(6).unwrap();
    let folder = Folder::new();
    folder.write("tagaudit.toml", &file("tagaudit.toml"));
    let script = folder.moved(script);
    let mut inventory = estate(1);
    let output = shell(&folder, &Mock::serve(&inventory), &script, &KEYS);
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "{}", String::from_utf8_lossy(&output.stderr));
    break_in(&mut inventory);
    let output = shell(&folder, &Mock::serve(&inventory), &script, &KEYS);
    let mail = String::from_utf8(output.stdout).unwrap();
    assert!(mail.starts_with("tagaudit ended with 1\ncluster  my-cluster"), "{mail}");
}

#[test]
fn the_unit_of_systemd_writes_where_it_says() {
    let unit = file("systemd/tagaudit.service");
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/")).unwrap();
    let folder = Folder::new();
    folder.write("tagaudit.toml", &file("tagaudit.toml"));
    let output = shell(&folder, &Mock::serve(&estate(1)), &folder.moved(line), &KEYS);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for name in ["report.html", "report.json"] {
        assert!(folder.path(name).exists(), "{name}");
    }
}

/// The example, and each part of it that is commented out.
#[test]
fn the_configuration_of_the_examples_is_one_that_the_tool_takes() {
    let text = file("tagaudit.toml");
    let whole: String = text.lines().fold(String::new(), |all, line| {
        let is_part = line.starts_with("# [[") || (line.starts_with("# ") && line.contains(" = "));
        all + if is_part { line.trim_start_matches("# ") } else { line } + "\n"
    });
    assert!(whole.contains("\n[[target]]\naccount = ") && whole.contains("\n[[waiver]]\nrule = "), "{whole}");
    let folder = Folder::new();
    for text in [text, whole] {
        folder.write("tagaudit.toml", &text);
        let output = command().args(["config", "check"]).current_dir(folder.0.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

//! What goes wrong with a job that nobody watches, and what somebody might try with it. The rows are those of the catalogue in
//! `docs/architecture.md`; those that are not here are in `many`, `sets`, `compare`, `config`, `formats` and `permissions`.

use std::fs;
use std::process::{Command, Output, Stdio};

use super::binary::{command, run};
use super::fixtures;

const DEMO: [&str; 5] = ["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json"];

fn scan(more: &[&str]) -> Output {
    run(&[&DEMO[..], more].concat())
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[cfg(target_os = "linux")]
#[test]
fn j7_a_full_disk_and_a_folder_that_cannot_be_written_leave_no_half_file() {
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    for format in ["table", "json", "html", "csv", "junit", "sarif", "prometheus", "ocsf", "asff", "markdown"] {
        let mut command = command();
        command.args(DEMO).args(["--format", format]).current_dir(env!("CARGO_MANIFEST_DIR")).stdout(full());
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{format}: {stderr}");
        assert!(stderr.starts_with("error: cannot write to standard output\ncause: "), "{format}: {stderr}");
        let output = scan(&["--format", format, "-o", "/dev/full"]);
        assert_eq!(output.status.code(), Some(2), "{format}");
    }
    // Nobody, not even root, makes files there.
    let output = scan(&["-o", "/proc/report.json"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`/proc/report.json`"));
    for more in [
        ["record", "--inventory", "fixtures/demo.json", "-o", "/proc/x.json"],
        ["merge", "x", "y", "-o", "/proc/x.html"],
    ] {
        assert_eq!(run(&more).status.code(), Some(2), "{more:?}");
    }
    // A report that cannot be written leaves the one of yesterday as it was.
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    fs::write(&file, "yesterday").unwrap();
    let output = scan(&["-o", file.to_str().unwrap(), "-o", "/proc/report.html"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(names(folder.path()), ["report.json"]);
}

#[test]
fn j7_two_runs_that_write_one_file_leave_one_whole_report() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let expected = scan(&["--format", "json"]).stdout;
    let runs: Vec<_> = (0..8)
        .map(|_| {
            let mut command = command();
            command.args(DEMO).arg("-o").arg(&file).current_dir(env!("CARGO_MANIFEST_DIR"));
            command.spawn().unwrap()
        })
        .collect();
    for mut run in runs {
        // At no moment is there anything but a whole report.
        if let Ok(text) = fs::read(&file) {
            assert!(text == expected);
        }
        assert_eq!(run.wait().unwrap().code(), Some(1));
    }
    assert!(fs::read(&file).unwrap() == expected);
    assert_eq!(names(folder.path()), ["report.json"], "and nothing beside it");
}

#[cfg(unix)]
#[test]
fn s3_nothing_is_written_elsewhere_or_for_others_to_read() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let demo = fs::read_to_string(fixtures::path("demo.json")).unwrap();
    let hostile = "../../etc/x";
    fs::write(folder.path().join("inventory.json"), demo.replace("cluster/demo", &format!("cluster/{hostile}")))
        .unwrap();
    let script = format!(
        "umask 000; '{}' scan --cluster-id '{hostile}' --inventory inventory.json -o report.json -o report.html -o report.prom; \
         '{0}' scan --cluster-id '{hostile}' --inventory inventory.json --fix --plan-out plan.json > table.txt; \
         '{0}' scan --all-clusters --inventory inventory.json -o set.json; '{0}' merge set.json -o merged.json",
        env!("CARGO_BIN_EXE_tagaudit")
    );
    let home = folder.path().join("home");
    fs::create_dir(&home).unwrap();
    Command::new("sh")
        .args(["-c", &script])
        .env_clear()
        .env("HOME", &home)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(
        names(folder.path()),
        [
            "home",
            "inventory.json",
            "merged.json",
            "plan.json",
            "report.html",
            "report.json",
            "report.prom",
            "set.json",
            "table.txt"
        ]
    );
    for name in ["merged.json", "plan.json", "report.html", "report.json", "set.json"] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert_eq!(fs::metadata(folder.path().join("report.prom")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn s4_depth_length_and_numbers_without_end_are_refused_in_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| -> String {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let deep = put("deep.json", &"[".repeat(100_000));
    let object = put("object.json", &"{\"a\":".repeat(100_000));
    let toml = put("deep.toml", &format!("x = {}", "[".repeat(100_000)));
    let long = put("long.toml", &format!("[scan]\ncluster-id = \"{}\"\n", "x".repeat(2 << 20)));
    let bomb = put(
        "bomb.yaml",
        &(1..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, level| {
            text + &format!("a{level}: &a{level} [*a{}, *a{0}]\n", level - 1)
        }),
    );
    let statement = "{\"Effect\":\"Allow\",\"Action\":\"*a*a*a*a*a*b\",\"Resource\":\"*\"},";
    let wide = put(
        "wide.json",
        &format!(
            "{{\"Version\":\"2012-10-17\",\"Statement\":[{}]}}",
            statement.repeat(1_000_000).trim_end_matches(',')
        ),
    );
    let stars = "*a".repeat(5_000);
    let policy = put(
        "stars.json",
        &format!("{{\"Statement\":{{\"Effect\":\"Allow\",\"Action\":\"s3:{stars}\",\"Resource\":\"{stars}b\"}}}}"),
    );
    let mut cases: Vec<Vec<String>> = Vec::new();
    for file in [&deep, &object, &wide] {
        for words in [
            vec!["report", file],
            vec!["scan", "--targets", file],
            vec!["scan", "--cluster-id", "x", "--inventory", file],
            vec!["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--nodes", file],
            vec!["scan", "--cluster-id", "demo", "--inventory", "fixtures/demo.json", "--compare", file],
            vec!["policy", "eval", "--policy", file, "--action", "s3:GetObject", "--resource", "*"],
        ] {
            cases.push(words.into_iter().map(str::to_owned).collect());
        }
    }
    for file in [&toml, &long] {
        cases.push(["config", "check", file].map(str::to_owned).to_vec());
    }
    for words in &cases {
        let arguments: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words:?}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.len() < 2_000, "{words:?}: {} bytes", stderr.len());
    }
    // Lint says what is wrong with any text, and merging joins what it can: they end, and not well.
    for words in [vec!["policy", "lint", &bomb], vec!["policy", "lint", &deep], vec!["merge", &deep, &wide]] {
        let output = run(&words);
        assert!(output.status.code().is_some_and(|code| code > 0 && code < 5), "{words:?}: {:?}", output.status);
    }
    let output =
        run(&["policy", "eval", "--policy", &policy, "--action", "s3:GetObject", "--resource", &"a".repeat(2_000)]);
    assert!(output.status.code().is_some_and(|code| code <= 3), "{:?}", output.status);
}

#[cfg(feature = "aws")]
mod live {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::super::mock::Mock;
    use super::super::worlds;
    use super::{Output, command};

    const SECRET: &str = "verysecretkey/verysecretkey+verysecretke";
    const TOKEN: &str = "session-token-that-nobody-may-see";

    fn scan(endpoint: &str, more: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = command();
        command
            .args([
                "scan",
                "--cluster-id",
                "x",
                "--region",
                "us-east-1",
                "--endpoint-url",
                endpoint,
                "--timeout",
                "5",
                "-v",
            ])
            .args(more)
            .env("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_SESSION_TOKEN", TOKEN)
            .envs(environment.iter().copied());
        command.output().unwrap()
    }

    fn all(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    }

    /// Answers every request with this text, and hands over what was asked.
    fn server(answer: &'static str) -> (String, mpsc::Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, asked) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let mut request = vec![0; 16_384];
                let read = stream.read(&mut request).unwrap_or_default();
                let _ = sender.send(String::from_utf8_lossy(&request[..read]).into_owned());
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        (address, asked)
    }

    #[test]
    fn s2_nothing_that_is_logged_holds_a_secret() {
        let world = worlds::all().into_iter().find(|world| world.name == "clean-rke1").unwrap();
        let loud = [("RUST_LOG", "trace"), ("AWS_LOG_LEVEL", "debug"), ("RUST_BACKTRACE", "full")];
        let mock = Mock::serve(&world.inventory);
        let said = all(&scan(&mock.url, &[], &loud));
        assert!(said.contains("ec2:DescribeInstances"), "it logs at all: {said}");
        let (address, _asked) = server("HTTP/1.1 403 X\r\ncontent-length: 9\r\n\r\n<refused>");
        let refused = all(&scan(&format!("http://{address}"), &[], &loud));
        let with_role = all(&scan(
            &mock.url,
            &["--assume-role", "arn:aws:iam::111122223333:role/audit", "--external-id", "external-id-1"],
            &loud,
        ));
        for text in [said, refused, with_role] {
            for hidden in [
                SECRET,
                TOKEN,
                "AKIAIOSFODNN7EXAMPLE",
                "Signature=",
                "AWS4-HMAC",
                "uthorization:",
                "SecretAccessKey",
                "external-id-1",
            ] {
                assert!(!text.contains(hidden), "{hidden}: {text}");
            }
        }
    }

    #[test]
    fn s6_a_proxy_is_used_a_redirect_is_not_followed_and_nothing_travels_unencrypted() {
        let (proxy, asked) = server("HTTP/1.1 502 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let proxy = format!("http://{proxy}");
        // An address of documentation: nobody is there.
        let output =
            scan("http://192.0.2.1", &["--insecure-endpoint"], &[("HTTP_PROXY", &proxy), ("http_proxy", &proxy)]);
        let request = asked.recv_timeout(Duration::from_secs(5)).unwrap_or_else(|_| panic!("{}", all(&output)));
        assert!(request.starts_with("POST http://192.0.2.1/"), "{request}");

        let output = scan("https://192.0.2.1", &[], &[("HTTPS_PROXY", &proxy), ("https_proxy", &proxy)]);
        let request =
            asked.iter().find(|request| request.starts_with("CONNECT")).unwrap_or_else(|| panic!("{}", all(&output)));
        assert!(request.starts_with("CONNECT 192.0.2.1:443 "), "{request}");
        assert!(!request.contains(TOKEN));

        let (elsewhere, visited) = server("HTTP/1.1 200 X\r\ncontent-length: 0\r\n\r\n");
        let answer = format!(
            "HTTP/1.1 307 X\r\nlocation: http://{elsewhere}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let (redirecting, asked) = server(Box::leak(answer.into_boxed_str()));
        let output = scan(&format!("http://{redirecting}"), &[], &[]);
        assert_eq!(output.status.code(), Some(4), "{}", all(&output));
        assert!(asked.try_recv().is_ok(), "it was asked");
        assert!(visited.recv_timeout(Duration::from_millis(200)).is_err(), "nobody follows");

        let output = scan("http://192.0.2.1", &[], &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(all(&output).contains("requests would travel unencrypted"));
    }
}

//! Keys that sign the requests to Alibaba Cloud. Each row of `alibaba_order.json` was played with the official library by
//! `tests/alibaba_sdk/order.py`, which also notes where the `aliyun` command line takes another key.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;

use super::binary::command;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "from")]
    _from: String,
    files: BTreeMap<String, Value>,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    files: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
    /// The key; none where the library finds none.
    key: Option<String>,
}

/// Notes with which key a request is signed, and refuses it.
fn refuse(mut stream: TcpStream, keys: &Mutex<Vec<String>>) {
    let (mut request, mut chunk) = (Vec::new(), [0_u8; 8192]);
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => request.extend_from_slice(&chunk[..read]),
            _ => return,
        }
    }
    let text = String::from_utf8_lossy(&request).into_owned();
    let key = text.split_once("Credential=").and_then(|(_, rest)| rest.split(',').next());
    keys.lock().unwrap().push(key.unwrap().to_owned());
    let body = r#"{"Code": "NoPermission", "Message": "no", "RequestId": "R"}"#;
    let head = format!("HTTP/1.1 403 X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all((head + body).as_bytes());
}

/// The key with which the binary asks, its exit code, and what it says.
fn play(table: &Table, row: &Row) -> (Option<String>, Option<i32>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&keys);
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| refuse(stream, &noted)));
    let home = tempfile::tempdir().unwrap();
    let file = match table.files.get(&row.files) {
        Some(Value::String(ini)) => Some((".alibabacloud/credentials.ini", ini.clone())),
        Some(profiles @ Value::Object(_)) => Some((".aliyun/config.json", profiles.to_string())),
        _ => None,
    };
    if let Some((path, text)) = file {
        let path = home.path().join(path);
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut command = command();
    command
        .args(["clusters", "--provider", "alibaba", "--region", "cn-hangzhou", "--timeout", "20"])
        .args(["--endpoint-url", &url])
        .args(row.arguments.iter().flat_map(|name| ["--profile", name]))
        .env("HOME", home.path())
        .env("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
        .envs(&row.environment);
    let output = command.output().unwrap();
    let key = keys.lock().unwrap().last().cloned();
    (key, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn keys_come_from_where_the_official_library_takes_them() {
    let table: Table = serde_json::from_str(include_str!("alibaba_order.json")).unwrap();
    let wrong = table.rows.iter().filter_map(|row| {
        let (key, code, said) = play(&table, row);
        // What is named and not there is told from what nobody configured.
        let is_refused = key.is_none() && matches!(code, Some(2 | 4)) && said.starts_with("error: ");
        let is_right = key == row.key && (is_refused || (key.is_some() && code == Some(4)));
        (!is_right).then(|| format!("{row:?}\n  {code:?} {key:?} {said}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(table.rows.len() > 100);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.rows.len(), wrong.join("\n"));
}

/// The region of a profile counts before that of the environment, which fills in what a profile leaves open, as `aliyun` has it; and the
/// variables that name a profile are those of `aliyun`.
#[test]
fn a_profile_brings_its_region() {
    let table: Table = serde_json::from_str(include_str!("alibaba_order.json")).unwrap();
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aliyun")).unwrap();
    std::fs::write(home.path().join(".aliyun/config.json"), table.files["profiles"].to_string()).unwrap();
    let environment = [("ALIBABA_CLOUD_REGION_ID", "cn-chengdu"), ("REGION", "cn-qingdao")];
    let keys = [("ALIBABA_CLOUD_ACCESS_KEY_ID", "LTAI"), ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", "x")];
    let ignored = [("ALIBABA_CLOUD_IGNORE_PROFILE", "TRUE")];
    let cases: [(&[&str], Vec<(&str, &str)>, &str); 9] = [
        (&[], vec![], "cn-beijing"),
        (&[], environment.to_vec(), "cn-beijing"),
        (&["--profile", "other"], environment.to_vec(), "cn-shanghai"),
        (&[], vec![("ALIBABACLOUD_PROFILE", "other"), ("ALIBABA_CLOUD_PROFILE", "first")], "cn-shanghai"),
        (&[], vec![("ALICLOUD_PROFILE", "other")], "cn-shanghai"),
        (&[], [&environment[..], &keys].concat(), "cn-beijing"),
        (&[], [&environment[..], &keys, &ignored].concat(), "cn-chengdu"),
        (&[], [&environment[1..], &keys, &ignored].concat(), "cn-qingdao"),
        (&[], [&environment[1..], &keys, &ignored, &[("ALICLOUD_REGION_ID", "cn-heyuan")]].concat(), "cn-heyuan"),
    ];
    for (arguments, environment, region) in cases {
        let mut command = command();
        command
            .args(["clusters", "--provider", "alibaba", "-v", "--timeout", "1", "--endpoint-url", "http://127.0.0.1:9"])
            .args(arguments)
            .env("HOME", home.path())
            .env("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")
            .envs(environment.iter().copied());
        let said = String::from_utf8(command.output().unwrap().stderr).unwrap();
        assert!(said.contains(&format!("DescribeInstances in {region}")), "{arguments:?} {environment:?}: {said}");
    }
    // Switched off, there is no profile, and no region.
    let mut command = command();
    command.args(["clusters", "--provider", "alibaba"]).env("HOME", home.path());
    command.envs([("ALIBABA_CLOUD_IGNORE_PROFILE", "TRUE"), ("ALIBABA_CLOUD_ECS_METADATA_DISABLED", "true")]);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(4) && said.contains("no credentials for Alibaba Cloud were found"), "{said}");
}

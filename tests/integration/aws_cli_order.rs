//! Whose credentials, which region and which endpoint the options, the environment and the files mean, as AWS CLI v2 says it: each row of
//! `aws_cli_order.json` was played with the AWS CLI by `tests/aws_cli/table.py`.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde::Deserialize;
use serde_json::Value;

use super::binary::command;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(rename = "from")]
    _from: String,
    files: serde_json::Map<String, Value>,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    files: String,
    arguments: Vec<String>,
    environment: std::collections::BTreeMap<String, String>,
    answer: Option<Answer>,
    refused: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    endpoint: String,
    key: String,
    region: String,
}

/// STS on loopback, under several names: it assumes every role, and refuses to say who asks.
struct Sts {
    /// What stands for each server in the table, and its address.
    urls: Vec<(String, String)>,
    seen: Arc<Mutex<Vec<Answer>>>,
}

impl Sts {
    fn serve() -> Self {
        let seen: Arc<Mutex<Vec<Answer>>> = Arc::default();
        let mut urls = Vec::new();
        for name in ["flag", "env-sts", "env", "services", "profile", "default"] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            urls.push((format!("@{name}@"), format!("http://{}", listener.local_addr().unwrap())));
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let seen = Arc::clone(&seen);
                    std::thread::spawn(move || while answer(&stream, name, &seen).is_some() {});
                }
            });
        }
        Self { urls, seen }
    }

    fn filled(&self, text: &str) -> String {
        self.urls.iter().fold(text.to_owned(), |text, (mark, url)| text.replace(mark, url))
    }
}

/// Answers one request; `None` when there are no more.
fn answer(mut stream: &TcpStream, endpoint: &str, seen: &Mutex<Vec<Answer>>) -> Option<()> {
    let mut request = Vec::new();
    let mut chunk = [0_u8; 8192];
    let (head, body) = loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break (head.to_owned(), body.to_owned());
            }
        }
        match stream.read(&mut chunk) {
            Ok(read) if read > 0 => request.extend_from_slice(&chunk[..read]),
            _ => return None,
        }
    };
    let scope = head.split_once("Credential=").map(|(_, rest)| rest.split([',', ' ']).next().unwrap().split('/'));
    let scope: Vec<String> = scope.into_iter().flatten().map(str::to_owned).collect();
    let key = scope.first().cloned();
    let action = body.split('&').find_map(|pair| pair.strip_prefix("Action=")).unwrap().to_owned();
    let (status, text) = if action == "GetCallerIdentity" {
        seen.lock().unwrap().push(Answer { endpoint: endpoint.into(), key: key.unwrap(), region: scope[2].clone() });
        (403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>".to_owned())
    } else {
        let of = key.map_or("WEB".to_owned(), |key| key.replace("AKID", ""));
        let text = format!(
            "<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result><Credentials>\
             <AccessKeyId>ASIA{of}</AccessKeyId><SecretAccessKey>x</SecretAccessKey><SessionToken>t</SessionToken>\
             <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></{action}Result></{action}Response>"
        );
        (200, text)
    };
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n", text.len());
    stream.write_all((head + &text).as_bytes()).ok()
}

/// What the binary does with a row.
fn play(sts: &Sts, table: &Table, row: &Row, folder: &Path) -> (Option<Answer>, Option<i32>, String) {
    for name in ["config", "credentials"] {
        let text = table.files[&row.files].get(name).and_then(Value::as_str).unwrap_or_default();
        std::fs::write(folder.join(name), sts.filled(text)).unwrap();
    }
    std::fs::write(folder.join("token"), "token").unwrap();
    let mut command = command();
    command
        .args(["clusters", "--timeout", "20"])
        .args(row.arguments.iter().map(|argument| sts.filled(argument)))
        .env("AWS_CONFIG_FILE", folder.join("config"))
        .env("AWS_SHARED_CREDENTIALS_FILE", folder.join("credentials"))
        .envs(row.environment.iter().map(|(name, value)| (name, sts.filled(value))))
        .current_dir(folder);
    sts.seen.lock().unwrap().clear();
    let output = command.output().unwrap();
    let seen = sts.seen.lock().unwrap().last().cloned();
    (seen, output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn options_environment_and_files_mean_what_they_mean_to_the_aws_cli() {
    let table: Table = serde_json::from_str(include_str!("aws_cli_order.json")).unwrap();
    let threads: usize = 8;
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let table = &table;
                scope.spawn(move || {
                    let (sts, folder) = (Sts::serve(), tempfile::tempdir().unwrap());
                    let rows = table.rows.iter().skip(part).step_by(threads);
                    let played = rows.map(|row| (row, play(&sts, table, row, folder.path())));
                    let wrong = played.filter_map(|(row, (seen, code, said))| {
                        let expected = match row.refused.as_deref() {
                            // What is written wrongly is told from what is not there.
                            Some("profile" | "half of the keys") => Some(2),
                            Some(_) | None => Some(4),
                        };
                        (seen != row.answer || code != expected).then(|| format!("{row:?}\n  {code:?} {seen:?} {said}"))
                    });
                    wrong.collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    assert!(table.rows.len() > 150);
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), table.rows.len(), wrong.join("\n"));
}

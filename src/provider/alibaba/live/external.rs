//! Commands that print credentials (mode `External` of the `aliyun` command line).
//! Source: aliyun/aliyun-cli `config/profile.go#GetCredential`.

use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use crate::provider::error::Error;

use super::environment::Environment;

/// Variable that forbids commands and URIs as sources of credentials.
const DISABLED_BY: &str = "ALIBABA_CLOUD_DISABLE_EXTERNAL_PROCESS";

/// Largest output of a command.
const MAX_BYTES: u64 = 1 << 20;

/// Checks that commands and URIs are allowed as sources.
///
/// # Errors
/// If the environment forbids them.
pub(super) fn check_enabled(environment: &Environment, mode: &str) -> Result<(), Error> {
    let is_disabled = environment.is_true(DISABLED_BY) || environment.get(DISABLED_BY) == Some("1");
    if is_disabled {
        return Err(Error::usage(format!("{DISABLED_BY} forbids credentials of mode {mode}")));
    }
    Ok(())
}

/// Runs a command and reads the profile that it prints. Its standard input is empty, because tagaudit may read from
/// there; errors of the command go to the terminal.
///
/// # Errors
/// If the command fails or prints no profile. The output is not part of the error: it may hold keys.
pub(super) fn run(command: &str) -> Result<Map<String, Value>, Error> {
    let failed = |message: String| Error::usage(message);
    let words = shell_words::split(command).map_err(|error| {
        failed("the `process_command` of a profile is malformed".to_owned()).cause(error.to_string())
    })?;
    let Some((program, arguments)) = words.split_first() else {
        return Err(failed("the `process_command` of a profile is empty".to_owned()));
    };
    let unusable = |error: std::io::Error| failed(format!("cannot run `{program}`")).cause(error.to_string());
    let mut child =
        Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(unusable)?;
    let mut output = Vec::new();
    let read = match child.stdout.take() {
        Some(stdout) => stdout.take(MAX_BYTES + 1).read_to_end(&mut output),
        None => Ok(0),
    };
    let is_larger = output.len() as u64 > MAX_BYTES;
    if is_larger {
        // Nobody reads the rest.
        let _ = child.kill();
    }
    let status = child.wait().map_err(unusable)?;
    read.map_err(unusable)?;
    if is_larger {
        return Err(failed(format!("the output of `{program}` is larger than {MAX_BYTES} bytes")));
    }
    if !status.success() {
        return Err(failed(format!("`{program}` failed: {status}")));
    }
    serde_json::from_slice(&output).map_err(|_| failed(format!("`{program}` printed no JSON object")))
}

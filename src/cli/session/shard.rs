//! The shard of a process of a Job.

use crate::cli::io::failure::Failure;
use crate::target::{Shard, ShardArgument};

/// `--shard`, with the index that a Job gives to its processes.
pub(in crate::cli) fn shard(argument: ShardArgument) -> Result<Shard, Failure> {
    let wrong = |reason: String| Failure::usage("cannot determine the shard").cause(reason);
    let Some(index) = argument.index else {
        let given = INDEX_VARIABLES.into_iter().find_map(|name| {
            #[expect(clippy::disallowed_methods, reason = "the command line is where the environment is read")]
            let value = std::env::var_os(name)?;
            Some((name, value.to_string_lossy().into_owned()))
        });
        let Some((name, value)) = given else {
            return Err(wrong(format!("neither {} is set", INDEX_VARIABLES.join(" nor ")))
                .help("run it in an Indexed Job or an array job, or name the index: --shard 0/8"));
        };
        let index = value.parse().map_err(|_| wrong(format!("{name} is `{value}`, not an index")))?;
        return argument.with_index(index).map_err(|error| wrong(error.to_string()));
    };
    argument.with_index(index).map_err(|error| wrong(error.to_string()))
}

/// Variables in which a process of a Job finds its index: Kubernetes, "Indexed Job for Parallel Processing with Static
/// Work Assignment"; AWS Batch User Guide, "Array jobs".
const INDEX_VARIABLES: [&str; 2] = ["JOB_COMPLETION_INDEX", "AWS_BATCH_JOB_ARRAY_INDEX"];

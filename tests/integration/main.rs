//! Tests of the whole: rules over every fixture, the built binary, its documents, and the binary against a mock AWS.

mod binary;
#[cfg(feature = "aws")]
mod cli_outputs;
mod documents;
mod fixtures;
#[cfg(feature = "aws")]
mod live;
#[cfg(feature = "aws")]
mod mock;
#[cfg(feature = "aws")]
mod mock_answers;
mod worlds;

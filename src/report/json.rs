//! JSON per contract.

use std::io::{self, BufWriter, Write};

use super::Report;

pub(super) fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, report)?;
    out.write_all(b"\n")?;
    out.flush()
}

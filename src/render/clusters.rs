//! The clusters of an account, for display.

use std::io::{self, Write};

use crate::clusters::Clusters;
use crate::resource::ResourceKind;
use crate::text;

use super::style::{Painter, TableOptions, layout};

/// Writes the clusters as a table.
///
/// # Errors
/// When the writer fails.
pub(crate) fn clusters(found: &Clusters, options: &TableOptions, out: &mut dyn Write) -> io::Result<()> {
    if found.clusters.is_empty() {
        let complete = if found.not_audited.is_empty() { "" } else { " among the resources that could be read" };
        writeln!(out, "no resource carries a cluster tag{complete}")?;
    } else {
        let mut table = layout(options.width, &["cluster id", "account", "region", "instances", "tagged resources"]);
        for cluster in &found.clusters {
            let described: Vec<String> = cluster
                .tags
                .iter()
                .filter(|(kind, _)| **kind != ResourceKind::Instance.name())
                .map(|(kind, values)| {
                    let values: Vec<String> =
                        values.iter().map(|(value, number)| format!("{number} {}", text::printable(value))).collect();
                    format!("{kind}: {}", values.join(", "))
                })
                .collect();
            table.add_row([
                text::printable(&cluster.cluster_id).into_owned(),
                text::printable(&cluster.account_id).into_owned(),
                text::printable(&cluster.region).into_owned(),
                cluster.instances.to_string(),
                described.join("\n"),
            ]);
        }
        writeln!(out, "{table}")?;
    }
    if !found.not_audited.is_empty() {
        let painter = Painter { color: options.color };
        writeln!(out, "\n{}", painter.bold("Not read, so there may be more:"))?;
        for gap in &found.not_audited {
            writeln!(
                out,
                "  {} in {}: {}",
                gap.read,
                gap.region.as_deref().unwrap_or("?"),
                text::printable(&gap.message)
            )?;
        }
    }
    Ok(())
}

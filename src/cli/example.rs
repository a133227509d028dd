//! `tagaudit example`: a correct minimal set.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::controller::ControllerVersion;
use crate::example::{self, Distribution, ExampleFile};
use crate::inventory::{Access, write_file};

use super::failure::{Exit, Failure};
use super::{ProviderName, cluster_id};

#[derive(Debug, Args)]
pub(super) struct ExampleArgs {
    /// Distribution of the cluster
    #[arg(value_enum, value_name = "DISTRIBUTION")]
    distribution: DistributionName,
    /// Cloud provider
    #[arg(long, value_enum, value_name = "CLOUD", default_value_t = ProviderName::Aws)]
    cloud: ProviderName,
    /// Image of the cloud controller, version 2.4 or later, as named in its registry (Alibaba Cloud only)
    #[arg(long, value_name = "IMAGE", required_if_eq("cloud", "alibaba"))]
    controller_image: Option<String>,
    /// Kubernetes version, such as 1.33
    #[arg(long, value_name = "VERSION")]
    kubernetes_version: ControllerVersion,
    /// Cluster id for the tags
    #[arg(long, value_name = "ID", value_parser = cluster_id, default_value = "prod")]
    cluster_id: String,
    /// Write the files into this folder instead of printing them; existing files are not overwritten
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DistributionName {
    /// RKE2, by itself or with Rancher
    Rke2,
    /// K3s
    K3s,
    /// RKE, which reached its end of life in 2025
    Rke,
    /// kubeadm
    Kubeadm,
}

impl From<DistributionName> for Distribution {
    fn from(name: DistributionName) -> Self {
        match name {
            DistributionName::Rke2 => Self::Rke2,
            DistributionName::K3s => Self::K3s,
            DistributionName::Rke => Self::Rke,
            DistributionName::Kubeadm => Self::Kubeadm,
        }
    }
}

pub(super) fn example(args: &ExampleArgs) -> Result<Exit, Failure> {
    let (distribution, version, cluster_id) = (args.distribution.into(), args.kubernetes_version, &args.cluster_id);
    let files = match (args.cloud, &args.controller_image) {
        (ProviderName::Aws, Some(_)) => {
            return Err(Failure::usage(
                "--controller-image is for Alibaba Cloud: the images of AWS's controller are known",
            ));
        }
        (ProviderName::Aws, None) => example::example(distribution, version, cluster_id),
        (ProviderName::Alibaba, image) => {
            example::on_alibaba(distribution, version, cluster_id, image.as_deref().unwrap_or_default())
        }
    };
    let files = files
        .map_err(|error| Failure::from_error(Exit::Usage, &error).help("for example --kubernetes-version 1.32"))?;
    let Some(folder) = &args.output else {
        return super::output::printed(|out| Ok(print(&files, out)));
    };
    let failed = |error: io::Error| {
        Failure::usage(format!("cannot write the example into `{}`", folder.display())).cause(error.to_string())
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    if let Some(file) = files.iter().find(|file| folder.join(file.name).exists()) {
        return Err(Failure::usage(format!("`{}` already exists", folder.join(file.name).display()))
            .help("name another folder; nothing was written"));
    }
    for file in &files {
        write_file(&folder.join(file.name), file.text.as_bytes(), Access::Everyone).map_err(failed)?;
    }
    super::output::printed(|out| {
        Ok(files.iter().try_for_each(|file| writeln!(out, "{}: {}", folder.join(file.name).display(), file.about)))
    })
}

fn print(files: &[ExampleFile], out: &mut dyn Write) -> io::Result<()> {
    for (index, file) in files.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        writeln!(out, "## {}: {}\n\n{}", file.name, file.about, file.text.trim_end())?;
    }
    Ok(())
}

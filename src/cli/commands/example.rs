//! `tagaudit example`: a correct minimal set.

use std::io::{self, Write};

use crate::example::{self, Distribution, ExampleFile};
use crate::inventory::{Access, write_file};

use crate::cli::args::ProviderName;
use crate::cli::args::command::{DistributionName, ExampleArgs};
use crate::cli::io::failure::{Exit, Failure};

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

pub(in crate::cli) fn example(args: &ExampleArgs) -> Result<Exit, Failure> {
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
        return crate::cli::io::output::printed(|out| Ok(print(&files, out)));
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
    crate::cli::io::output::printed(|out| {
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

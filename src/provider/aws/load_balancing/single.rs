//! Load balancers and target groups by their keys, for a write.

use std::collections::BTreeSet;

use crate::aws::{LoadBalancer, LoadBalancing, TargetGroup};
use crate::inventory::{Gap, Read};
use crate::provider::aws::call::{CallError, Caller, page};

use super::{Clients, Wanted, classic_tags, convert, current_tags, is_gone, read_details};

/// Reads load balancers, by their ARNs or as Classic ones by their names, with their listeners, target groups and health; and
/// target groups by their ARNs. What does not exist is omitted.
pub(in crate::provider::aws) async fn read(
    clients: &Clients,
    region: &str,
    wanted: &Wanted,
    caller: &Caller,
) -> Result<LoadBalancing, CallError> {
    let mut found = LoadBalancing::default();
    for key in &wanted.balancers {
        if key.starts_with("arn:") {
            found.load_balancers.extend(current(clients, region, key, caller).await?);
            let request = || clients.current.describe_target_groups().load_balancer_arn(key).send();
            found.target_groups.extend(groups(region, caller, request).await?);
        } else {
            found.load_balancers.extend(classic(clients, region, key, caller).await?);
        }
    }
    for arn in &wanted.target_groups {
        let request = || clients.current.describe_target_groups().target_group_arns(arn).send();
        for mut group in groups(region, caller, request).await? {
            // The list of a target group lags behind a load balancer that was deleted a moment ago.
            let mut existing = Vec::new();
            for arn in std::mem::take(&mut group.load_balancers) {
                if !current(clients, region, &arn, caller).await?.is_empty() {
                    existing.push(arn);
                }
            }
            group.load_balancers = existing;
            found.target_groups.push(group);
        }
    }
    found.target_groups.sort_by(|a, b| a.arn.cmp(&b.arn));
    found.target_groups.dedup_by(|a, b| a.arn == b.arn);
    let arns = found.load_balancers.iter().filter_map(|one| one.arn.clone());
    let arns: Vec<String> = arns.chain(found.target_groups.iter().map(|group| group.arn.clone())).collect();
    let (by_arn, gaps) = current_tags(clients, region, &arns, caller).await;
    refused(gaps)?;
    let names: Vec<String> =
        found.load_balancers.iter().filter(|one| one.arn.is_none()).map(|one| one.name.clone()).collect();
    let (by_name, gaps) = classic_tags(clients, region, &names, caller).await;
    refused(gaps)?;
    for one in &mut found.load_balancers {
        one.tags = match &one.arn {
            Some(arn) => by_arn.get(arn).cloned(),
            None => by_name.get(&one.name).cloned(),
        };
    }
    for group in &mut found.target_groups {
        group.tags = by_arn.get(&group.arn).cloned();
    }
    let in_use = found.target_groups.iter().filter(|group| !group.load_balancers.is_empty());
    let details = Wanted {
        balancers: wanted.balancers.clone(),
        attributes: wanted.balancers.clone(),
        target_groups: in_use.map(|group| group.arn.clone()).collect::<BTreeSet<String>>(),
    };
    let mut found = Some(found);
    refused(read_details(clients, region, &mut found, &details, caller).await)?;
    Ok(found.unwrap_or_default())
}

/// The first gap as the error of its call: a write needs everything.
fn refused(gaps: Vec<Gap>) -> Result<(), CallError> {
    match gaps.into_iter().next() {
        Some(gap) => Err(CallError::new(&gap.reason, gap.message)),
        None => Ok(()),
    }
}

async fn current(clients: &Clients, region: &str, arn: &str, caller: &Caller) -> Result<Vec<LoadBalancer>, CallError> {
    let request = || clients.current.describe_load_balancers().load_balancer_arns(arn).send();
    match caller.call(Read::DescribeLoadBalancers.action(), region, request).await {
        Ok(answer) => Ok(page(answer.load_balancers, None, convert::balancer)?.items),
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn classic(clients: &Clients, region: &str, name: &str, caller: &Caller) -> Result<Vec<LoadBalancer>, CallError> {
    let request = || clients.classic.describe_load_balancers().load_balancer_names(name).send();
    match caller.call(Read::DescribeLoadBalancers.action(), region, request).await {
        Ok(answer) => Ok(page(answer.load_balancer_descriptions, None, convert::classic)?.items),
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn groups<F>(region: &str, caller: &Caller, request: impl Fn() -> F) -> Result<Vec<TargetGroup>, CallError>
where
    F: Future<Output = Answer>,
{
    match caller.call(Read::DescribeTargetGroups.action(), region, request).await {
        Ok(answer) => Ok(page(answer.target_groups, None, convert::target_group)?.items),
        Err(error) if is_gone(&error) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Answer of `DescribeTargetGroups`.
type Answer = Result<
    aws_sdk_elasticloadbalancingv2::operation::describe_target_groups::DescribeTargetGroupsOutput,
    aws_smithy_runtime_api::client::result::SdkError<
        aws_sdk_elasticloadbalancingv2::operation::describe_target_groups::DescribeTargetGroupsError,
        aws_smithy_runtime_api::client::orchestrator::HttpResponse,
    >,
>;

//! The Resource Directory: its accounts, and the control policies that apply to them. Only its management account and
//! that of a delegated administrator can read it.

use std::collections::{BTreeMap, BTreeSet};

use crate::alibaba::{ControlPolicyLevel, Policy};
use crate::inventory::{Gap, REASON_NOTHING_SEEN, Read};
use crate::policy::{Document, RAM};
use crate::provider::alibaba::answers::{
    ControlAttachments, ControlPolicyAnswer, DirectoryAnswer, MemberAccount, MemberAccounts, policy_type,
};
use crate::provider::error::{Error, ErrorKind};
use crate::provider::targets::Members;
use crate::target::Member;

use super::client::{CallError, CallErrorKind};
use super::session::{Session, described, joined};

/// Accounts per page, the most that the API returns. Source: Resource Management 2020-03-31, `ListAccounts`.
const ACCOUNT_PAGE: (&str, usize) = ("PageSize", 100);

/// Nodes whose control policies are asked for at the same time.
const AT_ONCE: usize = 16;

/// States in which there is no account yet. The states of a promotion are those of accounts that exist. Sources:
/// Resource Management 2020-03-31, `ListAccounts`, `Status`; aliyun/terraform-provider-alicloud
/// `website/docs/d/resource_manager_accounts.html.markdown`.
const NOT_CREATED: [&str; 4] = ["CreateVerifying", "CreateFailed", "CreateExpired", "CreateCancelled"];

/// Position of accounts in the Resource Directory.
#[derive(Debug, Default)]
pub(super) struct Directory {
    /// Nodes from the root to each member, by account; absent without the path of the account.
    paths: BTreeMap<String, Option<Vec<String>>>,
    /// The management account, to which control policies do not apply.
    manager: Option<String>,
    /// True if control policies are enabled, or if that is not known.
    has_control_policies: bool,
}

/// Control policies of an account, or the reason why they are not known.
pub(super) type Levels = Result<Vec<ControlPolicyLevel>, Box<Gap>>;

impl Session {
    /// Lists the accounts of the Resource Directory: its members, and the management account, which is none of them.
    pub(super) fn directory(&self) -> Result<(Members, Directory), Error> {
        let call = Self::call_for_read(Read::ResourceManagerListAccounts, self.home());
        let listed = self.keys().and_then(|keys| self.client().pages::<MemberAccounts>(&keys, &call, ACCOUNT_PAGE));
        let listed = listed.map_err(|error| {
            let help = match error.kind {
                CallErrorKind::Denied => {
                    "run it in the management account of the Resource Directory or that of a delegated administrator, and allow resourcemanager:ListAccounts; or name the accounts with --targets FILE"
                }
                _ => "name the accounts with --targets FILE",
            };
            let message = "cannot list the accounts of the Resource Directory";
            Error::new(ErrorKind::Unreachable, message).cause(described(&error)).help(help)
        })?;
        let mut directory = Directory { has_control_policies: true, ..Directory::default() };
        directory.paths = listed.iter().map(|one| (one.account_id.clone(), path(one))).collect();
        let is_empty = listed.is_empty();
        let mut members: Vec<Member> = listed.into_iter().map(member).collect();
        let call = Self::call_for_read(Read::GetResourceDirectory, self.home());
        let gap = match self.call::<DirectoryAnswer>(&call) {
            Ok(answer) => {
                let manager = answer.resource_directory;
                directory.has_control_policies = manager.control_policy_status.as_deref() != Some("Disabled");
                directory.manager = Some(manager.master_account_id.clone());
                if members.iter().all(|member| member.account_id != manager.master_account_id) {
                    let (account_id, name) = (manager.master_account_id, manager.master_account_name);
                    members.push(Member { account_id, name, left_out: None });
                }
                None
            }
            Err(error) => {
                // The account of the credentials belongs to the directory.
                let own = self.identity()?.account_id;
                if members.iter().all(|member| member.account_id != own) {
                    members.push(Member { account_id: own, name: None, left_out: None });
                }
                Some(unread(Read::GetResourceDirectory, None, error))
            }
        };
        let unseen = || {
            let message = "the answer holds no account: the caller may not be allowed to see any";
            let error = CallError::new(CallErrorKind::Protocol, REASON_NOTHING_SEEN, message);
            unread(Read::ResourceManagerListAccounts, None, error)
        };
        Ok((Members { members, gap: gap.or_else(|| is_empty.then(unseen)) }, directory))
    }

    /// Reads the control policies of accounts, each node and each policy once.
    pub(super) fn control_policies<'a>(
        &self,
        directory: &Directory,
        accounts: impl Iterator<Item = &'a String>,
    ) -> BTreeMap<String, Levels> {
        let in_directory = accounts.filter_map(|account| {
            if directory.manager.as_ref() == Some(account) {
                return Some((account, Some(Vec::new())));
            }
            let path = directory.paths.get(account)?;
            Some((account, if directory.has_control_policies { path.clone() } else { Some(Vec::new()) }))
        });
        let paths: BTreeMap<&String, Option<Vec<String>>> = in_directory.collect();
        let nodes: BTreeSet<&String> = paths.values().flatten().flatten().collect();
        let nodes = each(&nodes.into_iter().cloned().collect::<Vec<_>>(), |node| self.attached_to_node(node));
        let ids: BTreeSet<&String> = nodes.values().flatten().flatten().map(|(id, _)| id).collect();
        let documents = each(&ids.into_iter().cloned().collect::<Vec<_>>(), |id| self.control_policy(id));
        let level = |node: &String| -> LevelRead {
            let attached = nodes.get(node).ok_or_else(|| Box::new(without_path()))?.as_ref().map_err(Clone::clone)?;
            let policies = attached.iter().map(|(id, policy)| {
                let text = documents.get(id).ok_or_else(|| Box::new(without_path()))?.as_ref().map_err(Clone::clone)?;
                Ok(Policy { document: Some(text.clone()), ..policy.clone() })
            });
            let mut policies = policies.collect::<Result<Vec<Policy>, Box<Gap>>>()?;
            policies.sort_by(|a, b| (a.policy_type, &a.name).cmp(&(b.policy_type, &b.name)));
            Ok(ControlPolicyLevel { node_id: node.clone(), policies })
        };
        let levels = |path: &Option<Vec<String>>| -> Levels {
            path.as_ref().ok_or_else(|| Box::new(without_path()))?.iter().map(level).collect()
        };
        paths.iter().map(|(account, path)| ((*account).clone(), levels(path))).collect()
    }

    /// Ids and names of the control policies of a node.
    fn attached_to_node(&self, node: &str) -> Result<Vec<(String, Policy)>, Box<Gap>> {
        let read = Read::ListControlPolicyAttachments;
        let call = Self::call_for_read(read, self.home()).with("TargetId", node);
        let answer: ControlAttachments =
            self.call(&call).map_err(|error| Box::new(unread(read, Some(node.to_owned()), error)))?;
        let attached = answer.control_policy_attachments.control_policy_attachment.into_iter().map(|one| {
            let unknown = |kind: &str| {
                let message = format!("the policy `{}` has the unknown type `{kind}`", one.policy_name);
                Box::new(unread(
                    read,
                    Some(node.to_owned()),
                    CallError::new(CallErrorKind::Protocol, "Protocol", message),
                ))
            };
            let policy_type = policy_type(&one.policy_type).ok_or_else(|| unknown(&one.policy_type))?;
            let name = one.policy_name.clone();
            Ok((
                one.policy_id,
                Policy { policy_type, name, default_version: None, document: None, attachment_count: None },
            ))
        });
        attached.collect()
    }

    /// Document of a control policy.
    fn control_policy(&self, id: &str) -> Result<String, Box<Gap>> {
        let read = Read::GetControlPolicy;
        let call = Self::call_for_read(read, self.home()).with("PolicyId", id);
        let failed = |error: CallError| Box::new(unread(read, Some(id.to_owned()), error));
        let answer: ControlPolicyAnswer = self.call(&call).map_err(failed)?;
        let text = answer.control_policy.policy_document;
        match Document::parse_as(&text, &RAM) {
            Ok(_) => Ok(text),
            Err(error) => {
                let message = format!("the control policy is malformed: {error}");
                Err(failed(CallError::new(CallErrorKind::Protocol, "Malformed", message)))
            }
        }
    }
}

/// Asks for each of a list, some at the same time.
fn each<T: Send>(
    keys: &[String],
    ask: impl Fn(&str) -> Result<T, Box<Gap>> + Sync,
) -> BTreeMap<String, Result<T, Box<Gap>>> {
    let ask = &ask;
    std::thread::scope(|scope| {
        let parts = keys.chunks(keys.len().div_ceil(AT_ONCE).max(1));
        let asking: Vec<_> = parts
            .map(|part| scope.spawn(move || part.iter().map(|key| (key.clone(), ask(key))).collect::<Vec<_>>()))
            .collect();
        asking.into_iter().flat_map(joined).collect()
    })
}

/// A level, or the reason why it is not known.
type LevelRead = Result<ControlPolicyLevel, Box<Gap>>;

/// Gap of a member whose folders are not known.
fn without_path() -> Gap {
    let message = "the answer does not state the folder of the account";
    unread(Read::ListControlPolicyAttachments, None, CallError::new(CallErrorKind::Protocol, "Protocol", message))
}

fn unread(read: Read, resource: Option<String>, error: CallError) -> Gap {
    Gap { read, account_id: None, region: None, resource, policy: None, reason: error.code, message: error.message }
}

/// Nodes from the root to an account: `rd-…/r-…/fd-…/ACCOUNT`.
fn path(account: &MemberAccount) -> Option<Vec<String>> {
    let path = account.resource_directory_path.as_deref()?;
    let nodes: Vec<String> = path.split('/').skip(1).map(str::to_owned).collect();
    let is_whole =
        nodes.first().is_some_and(|root| root.starts_with("r-")) && nodes.last() == Some(&account.account_id);
    is_whole.then_some(nodes)
}

fn member(account: MemberAccount) -> Member {
    // An account whose state is unknown is tried: a denial is reported, a skipped account would not be.
    let left_out = account.status.filter(|status| NOT_CREATED.contains(&status.as_str()));
    Member {
        account_id: account.account_id,
        name: account.display_name.filter(|name| !name.is_empty()),
        left_out: left_out.map(|status| format!("the account is {status}")),
    }
}

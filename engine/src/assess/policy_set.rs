//! Policies that apply to a principal, in the stages in which they are evaluated.

use crate::dialect::{DIALECTS, Dialect};
use crate::document::{Document, Effect};

/// A document with its name in reports.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedDocument {
    /// Policy name or ARN.
    pub name: String,
    /// Its content.
    pub document: Document,
}

/// Control policy that the cloud attaches at every level until it is detached. Sources: AWS Organizations User Guide,
/// "SCP evaluation"; Alibaba Cloud Resource Management, "Overview of control policies".
fn full_access(dialect: &Dialect) -> Option<NamedDocument> {
    let name = if dialect.knows_resources { "FullAWSAccess" } else { "FullAliyunAccess" };
    let version = dialect.newest_version();
    let text = format!(r#"{{"Version":"{version}","Statement":[{{"Effect":"Allow","Action":"*","Resource":"*"}}]}}"#);
    let document =
        DIALECTS.into_iter().find(|known| *known == dialect).map(|known| Document::parse_as(&text, known))?;
    Some(NamedDocument { name: name.to_owned(), document: document.ok()? })
}

/// Arranges control policies that are given one by one: each is a level, which must allow. A policy that only denies is
/// a deny list next to one that allows: it joins the preceding level, or, if none allows at all, the policy that the
/// cloud itself attaches. Source: AWS Organizations User Guide, "SCP evaluation", "Strategies for using SCPs", deny
/// lists.
#[must_use]
pub fn control_levels(policies: &[NamedDocument]) -> Vec<Vec<NamedDocument>> {
    let allows = |named: &NamedDocument| {
        named.document.statements.iter().any(|statement| statement.effect == Effect::Allow)
            || named.document.statements.is_empty()
    };
    let mut levels: Vec<Vec<NamedDocument>> = Vec::new();
    let mut only_deny: Vec<NamedDocument> = Vec::new();
    for policy in policies {
        match levels.last_mut() {
            _ if allows(policy) => levels.push(vec![policy.clone()]),
            Some(level) => level.push(policy.clone()),
            None => only_deny.push(policy.clone()),
        }
    }
    if let Some(first) = levels.first_mut() {
        first.extend(only_deny);
    } else if let Some(denies) = only_deny.first() {
        levels.push(full_access(denies.document.dialect).into_iter().chain(only_deny.clone()).collect());
    }
    levels
}

/// Kind of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StageKind {
    /// Policies of the principal itself; in RAM those that apply to the whole account.
    Identity,
    /// Policies of the principal that apply in one resource group only. They are evaluated if the policies of the
    /// account neither allow nor deny.
    ResourceGroup,
    /// Permissions boundary.
    Boundary,
    /// Session policy.
    Session,
    /// One level of service control policies.
    ControlPolicy,
}

impl StageKind {
    /// True for the principal's own policies, of which any may allow.
    pub(super) fn is_identity(self) -> bool {
        matches!(self, Self::Identity | Self::ResourceGroup)
    }

    /// Prefix of a limit that these policies impose.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Identity => "",
            Self::ResourceGroup => "in a resource group: ",
            Self::Boundary => "boundary: ",
            Self::Session => "session policy: ",
            Self::ControlPolicy => "control policy: ",
        }
    }
}

/// A stage of the evaluation: one of its policies must allow. If there are resource groups, the principal's own
/// policies are one stage in two parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// Kind of stage.
    pub kind: StageKind,
    /// Resource group to which the policies are confined; `None` if they apply everywhere.
    pub resource_group: Option<String>,
    /// Policies of the stage.
    pub policies: Vec<NamedDocument>,
}

impl Stage {
    fn new(kind: StageKind, policies: Vec<NamedDocument>) -> Self {
        Self { kind, resource_group: None, policies }
    }

    /// Name of the stage when it decides by a missing Allow. Empty for the policies of the principal, because any of
    /// them could have allowed.
    pub(super) fn name(&self) -> String {
        match self.kind {
            StageKind::Identity | StageKind::ResourceGroup => String::new(),
            StageKind::Boundary | StageKind::Session | StageKind::ControlPolicy => {
                let names: Vec<&str> = self.policies.iter().map(|named| named.name.as_str()).collect();
                names.join("+")
            }
        }
    }
}

/// Policies of one principal. Every stage must allow, and a Deny in any of them decides. Exception: among the
/// principal's own policies those of the account decide first, and those of resource groups only if the former do not.
/// Sources: AWS IAM User Guide, "Policy evaluation logic"; Alibaba Cloud RAM documentation, "Policy evaluation
/// process".
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySet {
    /// Stages; the first holds the policies of the principal itself, even if there are none.
    pub(super) stages: Vec<Stage>,
}

impl Default for PolicySet {
    fn default() -> Self {
        Self::for_identity(Vec::new())
    }
}

impl From<Document> for PolicySet {
    /// A set of one policy of the principal, without a name.
    fn from(document: Document) -> Self {
        Self::for_identity(vec![NamedDocument { name: String::new(), document }])
    }
}

impl PolicySet {
    /// Creates a set of inline and attached policies, any of which grants.
    #[must_use]
    pub fn for_identity(policies: Vec<NamedDocument>) -> Self {
        Self { stages: vec![Stage::new(StageKind::Identity, policies)] }
    }

    /// Adds a permissions boundary, which must also grant and never grants by itself.
    #[must_use]
    pub fn with_boundary(mut self, boundary: Option<NamedDocument>) -> Self {
        let stage = boundary.map(|boundary| Stage::new(StageKind::Boundary, vec![boundary]));
        self.stages.extend(stage);
        self
    }

    /// Adds policies that apply in one resource group only, as in RAM.
    #[must_use]
    pub fn with_resource_group(mut self, resource_group: &str, policies: Vec<NamedDocument>) -> Self {
        let stage = Stage::new(StageKind::ResourceGroup, policies);
        self.stages.push(Stage { resource_group: Some(resource_group.to_owned()), ..stage });
        self
    }

    /// Adds a session policy, which must also grant.
    #[must_use]
    pub fn with_session_policy(mut self, policy: Option<NamedDocument>) -> Self {
        let stage = policy.map(|policy| Stage::new(StageKind::Session, vec![policy]));
        self.stages.extend(stage);
        self
    }

    /// Adds service control policies, level by level: one policy on each level must also grant.
    #[must_use]
    pub fn with_control_policies(mut self, levels: Vec<Vec<NamedDocument>>) -> Self {
        let stages = levels.into_iter().map(|policies| Stage::new(StageKind::ControlPolicy, policies));
        self.stages.extend(stages);
        self
    }

    /// Policies of the principal itself.
    pub fn identity(&self) -> impl Iterator<Item = &NamedDocument> {
        self.stages.iter().filter(|stage| stage.kind.is_identity()).flat_map(|stage| &stage.policies)
    }

    /// Policies of all stages.
    pub fn policies(&self) -> impl Iterator<Item = &NamedDocument> {
        self.stages.iter().flat_map(|stage| &stage.policies)
    }

    /// Adds one more policy of the principal.
    #[must_use]
    pub(crate) fn with_identity(mut self, policy: NamedDocument) -> Self {
        if let Some(stage) = self.stages.first_mut() {
            stage.policies.push(policy);
        }
        self
    }
}

//! The policies that hold for a principal, in the stages in which they are evaluated.

use crate::dialect::{DIALECTS, Dialect};
use crate::document::{Document, Effect};

/// A document with the name it is reported under.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedDocument {
    /// Policy name or ARN.
    pub name: String,
    /// Its content.
    pub document: Document,
}

/// The control policy that the cloud attaches at every level until somebody takes it away. Sources: AWS Organizations User Guide,
/// "SCP evaluation"; Alibaba Cloud Resource Management, "Overview of control policies".
fn full_access(dialect: &Dialect) -> Option<NamedDocument> {
    let name = if dialect.knows_resources { "FullAWSAccess" } else { "FullAliyunAccess" };
    let version = dialect.newest_version();
    let text = format!(r#"{{"Version":"{version}","Statement":[{{"Effect":"Allow","Action":"*","Resource":"*"}}]}}"#);
    let document =
        DIALECTS.into_iter().find(|known| *known == dialect).map(|known| Document::parse_as(&text, known))?;
    Some(NamedDocument { name: name.to_owned(), document: document.ok()? })
}

/// The levels of control policies that are given one by one: each is a level, on which it must allow. One that only denies is a list
/// that stands beside another which allows: it is attached to the level before it, or where none allows at all beside the policy
/// that the cloud attaches itself. Source: AWS Organizations User Guide, "SCP evaluation", "Strategies for using SCPs", deny lists.
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

/// What a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StageKind {
    /// The policies of the principal itself; in RAM those that hold in the whole account.
    Identity,
    /// Those of its policies that hold in a resource group only. They are looked at where those of the account neither allow
    /// nor deny.
    ResourceGroup,
    /// Its permissions boundary.
    Boundary,
    /// The policy of its session.
    Session,
    /// A level of service control policies.
    ControlPolicy,
}

impl StageKind {
    /// Whether it is one of the principal's own, of which any may allow.
    pub(super) fn is_identity(self) -> bool {
        matches!(self, Self::Identity | Self::ResourceGroup)
    }

    /// Stands before a limit of these policies.
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

/// A stage of the evaluation: one of its policies has to allow. Those of the principal itself are one stage in two parts where
/// there are resource groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// What it is.
    pub kind: StageKind,
    /// The resource group in which they hold, where they hold in one only.
    pub resource_group: Option<String>,
    /// Its policies.
    pub policies: Vec<NamedDocument>,
}

impl Stage {
    fn new(kind: StageKind, policies: Vec<NamedDocument>) -> Self {
        Self { kind, resource_group: None, policies }
    }

    /// What it is called where it decides by what it lacks: the policies of the principal are not, for any of them could
    /// have allowed.
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

/// The policies of one principal. Every stage has to allow, and a Deny in any of them decides; except that of a principal's
/// own policies those of the account decide first, and those of resource groups only where they do not.
/// Sources: AWS IAM User Guide, "Policy evaluation logic"; Alibaba Cloud RAM documentation, "Policy evaluation process".
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySet {
    /// The stages; the first holds the policies of the principal itself, also when there are none.
    pub(super) stages: Vec<Stage>,
}

impl Default for PolicySet {
    fn default() -> Self {
        Self::of_identity(Vec::new())
    }
}

impl PolicySet {
    /// Inline and attached policies: any of them grants.
    #[must_use]
    pub fn of_identity(policies: Vec<NamedDocument>) -> Self {
        Self { stages: vec![Stage::new(StageKind::Identity, policies)] }
    }

    /// With a permissions boundary, which must grant too and never grants by itself.
    #[must_use]
    pub fn with_boundary(mut self, boundary: Option<NamedDocument>) -> Self {
        let stage = boundary.map(|boundary| Stage::new(StageKind::Boundary, vec![boundary]));
        self.stages.extend(stage);
        self
    }

    /// With policies that hold in a resource group only, as RAM has them.
    #[must_use]
    pub fn with_resource_group(mut self, resource_group: &str, policies: Vec<NamedDocument>) -> Self {
        let stage = Stage::new(StageKind::ResourceGroup, policies);
        self.stages.push(Stage { resource_group: Some(resource_group.to_owned()), ..stage });
        self
    }

    /// In a session with a policy of its own, which must grant too.
    #[must_use]
    pub fn in_session(mut self, policy: Option<NamedDocument>) -> Self {
        let stage = policy.map(|policy| Stage::new(StageKind::Session, vec![policy]));
        self.stages.extend(stage);
        self
    }

    /// Under service control policies, level by level: on each level one must grant too.
    #[must_use]
    pub fn under(mut self, levels: Vec<Vec<NamedDocument>>) -> Self {
        let stages = levels.into_iter().map(|policies| Stage::new(StageKind::ControlPolicy, policies));
        self.stages.extend(stages);
        self
    }

    /// The policies of the principal itself.
    pub fn identity(&self) -> impl Iterator<Item = &NamedDocument> {
        self.stages.iter().filter(|stage| stage.kind.is_identity()).flat_map(|stage| &stage.policies)
    }

    /// The same with one more policy of the principal.
    #[must_use]
    pub(crate) fn with_identity(mut self, policy: NamedDocument) -> Self {
        if let Some(stage) = self.stages.first_mut() {
            stage.policies.push(policy);
        }
        self
    }
}

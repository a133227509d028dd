//! The policies that hold for a principal, in the stages in which they are evaluated.

use crate::document::Document;

/// A document with the name it is reported under.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedDocument {
    /// Policy name or ARN.
    pub name: String,
    /// Its content.
    pub document: Document,
}

/// What a stage is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StageKind {
    /// The policies of the principal itself.
    Identity,
    /// Its permissions boundary.
    Boundary,
    /// A level of service control policies.
    ControlPolicy,
}

impl StageKind {
    /// Stands before a limit of these policies.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Identity => "",
            Self::Boundary => "boundary: ",
            Self::ControlPolicy => "control policy: ",
        }
    }
}

/// A stage of the evaluation: one of its policies has to allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Stage {
    /// What it is.
    pub kind: StageKind,
    /// Its policies.
    pub policies: Vec<NamedDocument>,
}

impl Stage {
    /// What it is called where it decides by what it lacks: the policies of the principal are not, for any of them could
    /// have allowed.
    pub(super) fn name(&self) -> String {
        match self.kind {
            StageKind::Identity => String::new(),
            StageKind::Boundary | StageKind::ControlPolicy => {
                let names: Vec<&str> = self.policies.iter().map(|named| named.name.as_str()).collect();
                names.join("+")
            }
        }
    }
}

/// The policies of one principal. Every stage has to allow, and a Deny in any of them decides.
/// Source: AWS IAM User Guide, "Policy evaluation logic".
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
        Self { stages: vec![Stage { kind: StageKind::Identity, policies }] }
    }

    /// With a permissions boundary, which must grant too and never grants by itself.
    #[must_use]
    pub fn with_boundary(mut self, boundary: Option<NamedDocument>) -> Self {
        let stage = boundary.map(|boundary| Stage { kind: StageKind::Boundary, policies: vec![boundary] });
        self.stages.extend(stage);
        self
    }

    /// Under service control policies, level by level: on each level one must grant too.
    #[must_use]
    pub fn under(mut self, levels: Vec<Vec<NamedDocument>>) -> Self {
        let stages = levels.into_iter().map(|policies| Stage { kind: StageKind::ControlPolicy, policies });
        self.stages.extend(stages);
        self
    }

    /// The policies of the principal itself.
    pub fn identity(&self) -> impl Iterator<Item = &NamedDocument> {
        self.stages.iter().filter(|stage| stage.kind == StageKind::Identity).flat_map(|stage| &stage.policies)
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

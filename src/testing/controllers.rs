//! Manifests of controllers.

/// The ServiceAccount of a controller with its role, and its Deployment. The containers begin after six spaces.
macro_rules! controller_with_role {
    ($name:literal, $role:literal, $($containers:expr),+ $(,)?) => {
        concat!(
            "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: ",
            $name,
            "
  namespace: kube-system
  annotations:
    eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/",
            $role,
            "
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ",
            $name,
            "
  namespace: kube-system
spec:
  template:
    spec:
      serviceAccountName: ",
            $name,
            "
      containers:
",
            $($containers),+
        )
    };
}

pub(crate) use controller_with_role;

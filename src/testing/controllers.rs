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

/// An AWS Load Balancer Controller whose Pods have no credentials but those of their nodes.
pub(crate) const LBC_ON_NODES: &str = "
apiVersion: v1
kind: ServiceAccount
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: aws-load-balancer-controller
  namespace: kube-system
  uid: a-2
spec:
  template:
    spec:
      serviceAccountName: aws-load-balancer-controller
      containers:
      - name: controller
        image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
---
apiVersion: v1
kind: Pod
metadata:
  name: aws-load-balancer-controller-0a
  namespace: kube-system
  uid: a-3
  ownerReferences:
  - kind: ReplicaSet
    name: aws-load-balancer-controller-0
spec:
  serviceAccountName: aws-load-balancer-controller
  containers:
  - name: controller
    image: public.ecr.aws/eks/aws-load-balancer-controller:v2.13.4
";

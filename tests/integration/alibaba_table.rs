//! The table of what goes wrong with the cloud controller of Alibaba Cloud, one test for each row: a clean cluster, one change, and
//! everything above a note that the audit reports. Numbers of issues are those of kubernetes/cloud-provider-alibaba-cloud.

use std::fs;

use serde_json::{Map, Value, json};

use super::binary::command;
use super::documents::read;

/// A cluster with its controller, as files.
struct Cluster {
    inventory: Value,
    nodes: Vec<Value>,
    services: Vec<Value>,
    version: &'static str,
    routes: bool,
    /// `Global` of the cloud configuration.
    global: Map<String, Value>,
    flags: Vec<&'static str>,
    env: Value,
    arguments: Vec<&'static str>,
}

fn items(file: &str) -> Vec<Value> {
    let list: Value = serde_json::from_str(&read(&format!("fixtures/alibaba/{file}"))).unwrap();
    list["items"].as_array().unwrap().clone()
}

impl Cluster {
    fn clean() -> Self {
        let mut nodes = items("clean-handmade.nodes.json");
        for node in &mut nodes {
            node["metadata"]["creationTimestamp"] = json!("2026-10-01T00:00:00Z");
            let ready = node["status"]["conditions"][0].as_object_mut().unwrap();
            ready.insert("lastHeartbeatTime".to_owned(), json!("2026-11-20T23:59:00Z"));
            ready.insert("lastTransitionTime".to_owned(), json!("2026-10-01T00:01:00Z"));
        }
        Self {
            inventory: serde_json::from_str(&read("fixtures/alibaba/clean-handmade.json")).unwrap(),
            nodes,
            services: items("clean-handmade.services.json"),
            version: "2.14.0",
            routes: false,
            global: json!({"clusterID": "prod"}).as_object().unwrap().clone(),
            flags: Vec::new(),
            env: json!([]),
            arguments: Vec::new(),
        }
    }

    fn region(&mut self) -> &mut Value {
        &mut self.inventory["accounts"][0]["regions"][0]
    }

    fn list(&mut self, name: &str) -> &mut Vec<Value> {
        self.region()[name].as_array_mut().unwrap()
    }

    /// The last worker.
    fn worker(&mut self) -> &mut Value {
        self.nodes.last_mut().unwrap()
    }

    fn set(&mut self, key: &str, value: &str) {
        self.global.insert(key.to_owned(), json!(value));
    }

    fn annotate(&mut self, service: &str, annotation: &str, value: &str) {
        let service = self.services.iter_mut().find(|one| one["metadata"]["name"] == service).unwrap();
        let name = format!("service.beta.kubernetes.io/alibaba-cloud-loadbalancer-{annotation}");
        service["metadata"]["annotations"][name] = json!(value);
    }

    fn add_service(&mut self, annotations: &Value, class: Option<&str>) {
        let mut service = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": "edge", "namespace": "shop", "uid": "77777777-0000-4000-8000-000000000000", "annotations": annotations},
            "spec": {"type": "LoadBalancer", "selector": {"app": "edge"},
                "ports": [{"port": 8443, "nodePort": 30555, "protocol": "TCP"}]}});
        if let Some(class) = class {
            service["spec"]["loadBalancerClass"] = json!(class);
        }
        self.services.push(service);
    }

    /// Copies the load balancer that carries this id.
    fn balancer(&mut self, id: &str) -> &mut Value {
        self.list("load_balancers").iter_mut().find(|one| one["id"] == id).unwrap()
    }

    /// Reduces the policies of the controller's role to these actions.
    fn grant_only(&mut self, actions: &[&str]) {
        let account = &mut self.inventory["accounts"][0];
        account["policies"].as_array_mut().unwrap().retain(|policy| policy["name"] == "k8s-ccm");
        let document = json!({"Version": "1", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]});
        account["policies"][0]["document"] = json!(document.to_string());
        let attachments = account["principals"][0]["attachments"].as_array_mut().unwrap();
        attachments.retain(|one| one["policy"] == "k8s-ccm");
    }

    fn objects(&mut self) -> Vec<Value> {
        let rule = |group: &str, resources: &[&str], verbs: &[&str]| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        let rules = [
            rule("", &["events"], &["create", "patch", "update"]),
            rule("", &["nodes"], &["get", "list", "watch", "delete", "patch", "update"]),
            rule("", &["nodes/status", "services/status"], &["patch", "update"]),
            rule("", &["services"], &["get", "list", "watch", "patch", "update"]),
            rule("", &["serviceaccounts"], &["create", "get"]),
            rule("", &["endpoints"], &["get", "list", "watch", "create", "patch", "update"]),
            rule("coordination.k8s.io", &["leases"], &["get", "list", "create", "update"]),
            rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get", "create", "update", "delete"]),
            rule("discovery.k8s.io", &["endpointslices"], &["get", "list", "watch"]),
        ];
        let mut line = vec![
            "/cloud-controller-manager".to_owned(),
            "--cloud-config=/etc/kubernetes/config/cloud-config.conf".to_owned(),
            format!("--configure-cloud-routes={}", self.routes),
        ];
        if self.routes {
            line.push("--cluster-cidr=172.16.0.0/16".to_owned());
            for (index, node) in self.nodes.iter_mut().enumerate().filter(|(_, node)| node["spec"]["podCIDR"].is_null())
            {
                node["spec"]["podCIDR"] = json!(format!("172.16.{index}.0/24"));
            }
        }
        line.extend(self.flags.iter().map(|flag| (*flag).to_owned()));
        let image = format!("registry.cn-hangzhou.aliyuncs.com/acs/cloud-controller-manager-amd64:v{}", self.version);
        let account = json!({"kind": "ServiceAccount", "name": "cloud-controller-manager", "namespace": "kube-system"});
        let mut objects = vec![
            json!({"apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"}}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": "system:cloud-controller-manager"}, "rules": rules}),
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": "system:cloud-controller-manager"}, "subjects": [account],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:cloud-controller-manager"}}),
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet",
                "metadata": {"name": "cloud-controller-manager", "namespace": "kube-system"},
                "spec": {"selector": {"matchLabels": {"app": "ccm"}}, "template": {"metadata": {"labels": {"app": "ccm"}}, "spec": {
                    "serviceAccountName": "cloud-controller-manager", "hostNetwork": true, "priorityClassName": "system-cluster-critical",
                    "nodeSelector": {"node-role.kubernetes.io/control-plane": ""}, "tolerations": [{"operator": "Exists"}],
                    "containers": [{"name": "ccm", "image": image, "command": line, "env": self.env,
                        "volumeMounts": [{"name": "config", "mountPath": "/etc/kubernetes/config"}]}],
                    "volumes": [{"name": "config", "configMap": {"name": "cloud-config"}}]}}}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cloud-config", "namespace": "kube-system"},
                "data": {"cloud-config.conf": json!({"Global": self.global}).to_string()}}),
        ];
        objects.extend(self.nodes.iter().chain(&self.services).cloned());
        objects
    }

    /// What an audit finds above a note, each rule once for each severity.
    fn found(mut self) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, value: &Value| {
            let path = folder.path().join(name);
            fs::write(&path, value.to_string()).unwrap();
            path
        };
        let objects = json!({"apiVersion": "v1", "kind": "List", "items": self.objects()});
        let mut scan = command();
        scan.args(["scan", "--cluster-id", "prod", "--format", "json", "--inventory"]);
        scan.arg(file("account.json", &self.inventory)).arg("--kubernetes").arg(file("objects.json", &objects));
        let output = scan.args(&self.arguments).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let findings = report["findings"].as_array().unwrap().iter();
        let mut found: Vec<String> = findings
            .filter(|finding| finding["severity"] != "info")
            .map(|finding| format!("{} {}", finding["severity"].as_str().unwrap(), finding["rule"].as_str().unwrap()))
            .collect();
        found.sort();
        found.dedup();
        found
    }
}

/// One test for each row: its name, the change, and everything that is found.
macro_rules! rows {
    ($($(#[$note:meta])* $name:ident: |$cluster:ident| $change:expr => [$($found:literal),*];)*) => { $(
        $(#[$note])*
        #[test]
        fn $name() {
            let mut changed = Cluster::clean();
            let $cluster = &mut changed;
            $change;
            let expected: Vec<&str> = vec![$($found),*];
            assert_eq!(changed.found(), expected);
        }
    )* };
}

fn prefix(node: &mut Value) {
    let id = format!("alicloud://{}", node["spec"]["providerID"].as_str().unwrap());
    node["spec"]["providerID"] = json!(id);
}

fn with_label(node: &mut Value, label: &str) {
    node["metadata"]["labels"][label] = json!("");
}

fn without_route(node: &mut Value) {
    node["spec"]["taints"] = json!([{"key": "node.kubernetes.io/network-unavailable", "effect": "NoSchedule"}]);
    node["status"]["conditions"].as_array_mut().unwrap().push(json!({"type": "NetworkUnavailable", "status": "True",
        "reason": "NoRouteCreated", "lastHeartbeatTime": "2026-11-20T23:59:00Z", "lastTransitionTime": "2026-11-01T00:00:00Z"}));
}

fn second_table(cluster: &mut Cluster) {
    let table = json!({"id": "vtb-bp2", "vpc_id": "vpc-bp1", "table_type": "Custom", "vswitch_ids": []});
    cluster.list("route_tables").push(table);
}

rows! {
    a_clean_cluster: |c| c.routes = false => [];
    a_clean_cluster_with_routes: |c| c.routes = true => [];
    a_clean_cluster_of_2_4: |c| c.version = "2.4.0" => [];
    a_clean_cluster_of_2_9: |c| c.version = "2.9.1" => [];
    a_clean_cluster_of_2_11: |c| c.version = "2.11.2" => [];

    // Node identities: issues 54, 59, 81, 154, 298.
    prefixes_with_routes: |c| { c.routes = true; c.nodes.iter_mut().for_each(prefix) } => ["error ali-provider-id-invalid"];
    prefixes_without_routes: |c| c.nodes.iter_mut().for_each(prefix) => [];
    a_provider_id_of_another_kind: |c| c.worker()["spec"]["providerID"] = json!("baremetal://x1") => ["error ali-provider-id-invalid", "error ali-svc-sync-fails"];
    no_provider_id: |c| drop(c.worker()["spec"].as_object_mut().unwrap().remove("providerID")) => ["error ali-provider-id-missing", "error ali-svc-sync-fails"];
    a_bad_provider_id_of_an_excluded_node: |c| {
        c.worker()["spec"]["providerID"] = json!("baremetal://x1");
        c.worker()["metadata"]["labels"]["service.alibabacloud.com/exclude-node"] = json!("true");
    } => [];

    // Whose permissions count: PR 411, issue 264.
    keys_in_the_configuration: |c| {
        c.set("accessKeyID", "TFRBSTV0QWJjZGVmZ2hpamtsbW5vcHFy");
        c.set("accessKeySecret", "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXoxMjM0");
        c.grant_only(&["slb:DeleteLoadBalancer", "ecs:Describe*"]);
    } => ["error ali-access-key-in-configmap"];
    keys_in_the_environment: |c| {
        c.env = json!([{"name": "ACCESS_KEY_ID", "value": "LTAI5tAbcdefghijklmnopqr"}, {"name": "ACCESS_KEY_SECRET", "value": "x"}]);
        c.grant_only(&["slb:DeleteLoadBalancer", "ecs:Describe*"]);
    } => [];
    few_permissions: |c| c.grant_only(&["slb:*", "vpc:*"]) => ["error ram-action-missing", "warning ram-action-missing"];
    no_list_of_vpcs_in_version_1: |c| {
        c.version = "1.9.3.376-g5c84e19-aliyun";
        c.grant_only(&["slb:*", "ecs:Describe*", "vpc:*RouteEntr*", "vpc:DescribeEipAddresses"]);
    } => ["error ram-action-missing"];
    one_role_for_all: |c| {
        for instance in c.list("instances") {
            instance["ram_role"] = json!("k8s-master");
        }
        c.arguments = vec!["--controller-role", "acs:ram::1234567890123456:role/k8s-master"];
    } => ["warning ram-controller-rights-on-worker"];

    // Flags and feature gates by version.
    gates_as_a_flag_of_2_14: |c| c.flags = vec!["--feature-gates=EndpointSlice=false"] => ["error ali-flag-removed"];
    gates_as_a_flag_of_2_8: |c| { c.version = "2.8.0"; c.flags = vec!["--feature-gates=EndpointSlice=false"] } => ["warning ali-flag-ignored"];
    tokens_before_their_version: |c| { c.version = "2.11.2"; c.flags = vec!["--enable-imdsv2=true"] } => ["error ali-flag-removed"];
    tokens_in_their_version: |c| { c.version = "2.12.4"; c.flags = vec!["--enable-imdsv2=true"] } => [];
    an_address_of_version_1: |c| c.flags = vec!["--address=127.0.0.1"] => ["error ali-flag-removed"];
    an_unknown_gate: |c| c.set("featureGates", "EndpointSlices=false") => ["warning ali-feature-gate-invalid"];
    a_gate_before_its_version: |c| { c.version = "2.9.1"; c.set("featureGates", "LoadBalancerTypeAnnotation=true") } => ["error ali-feature-gate-invalid"];

    // The cloud configuration against the account: issues 157, 247, 248.
    another_vpc: |c| { c.set("vpcid", "vpc-bp9"); c.set("vswitchid", ":vsw-bp1") } => ["error ali-cloud-config-mismatch"];
    another_cluster_id: |c| c.set("clusterID", "other") => ["warning ali-cloud-config-mismatch"];
    no_cluster_id: |c| drop(c.global.remove("clusterID")) => ["warning ali-cloud-config-content"];
    keys_that_are_not_base64: |c| { c.set("accessKeyID", "LTAI5t!abc"); c.set("accessKeySecret", "not base64!") } => ["error ali-access-key-in-configmap", "error ali-cloud-config-content"];
    two_route_tables: |c| { c.routes = true; second_table(c) } => ["warning ali-route-tables-several"];
    two_route_tables_and_a_choice: |c| { c.routes = true; second_table(c); c.set("routeTableIDs", "vtb-bp1") } => [];
    an_unknown_route_table: |c| { c.routes = true; c.set("routeTableIDs", "vtb-nowhere") } => ["error ali-cloud-config-mismatch", "warning ali-route-table-omitted"];

    // Services: issues 105, 428, PR 101, PR 287.
    an_annotation_that_was_renamed: |c| c.annotate("web", "slb-network-type", "vpc") => ["warning ali-svc-annotation-unknown"];
    an_annotation_before_it_was_renamed: |c| { c.version = "2.11.2"; c.annotate("web", "slb-network-type", "vpc") } => [];
    an_annotation_before_its_version: |c| { c.version = "2.9.1"; c.annotate("web", "preserve-lb-on-delete", "true") } => ["warning ali-svc-annotation-unknown"];
    an_annotation_in_its_version: |c| { c.version = "2.10.0"; c.annotate("web", "preserve-lb-on-delete", "true") } => [];
    an_address_type_of_aws: |c| c.annotate("web", "address-type", "internal") => ["error ali-svc-sync-fails", "warning ali-svc-annotation-value"];
    two_load_balancers_of_one_service: |c| {
        let mut second = c.balancer("lb-bp1web").clone();
        second["id"] = json!("lb-bp1web2");
        c.list("load_balancers").push(second);
    } => ["error ali-load-balancer-duplicate", "error ali-svc-sync-fails"];
    a_load_balancer_that_does_not_exist: |c| c.annotate("api", "id", "lb-gone") => ["error ali-load-balancer-unusable"];
    a_network_load_balancer_without_zones: |c| c.add_service(&json!({}), Some("alibabacloud.com/nlb")) => ["error ali-svc-sync-fails", "error ali-svc-zone-maps-missing"];
    an_unknown_class: |c| c.add_service(&json!({}), Some("alibabacloud.com/clb")) => ["warning ali-svc-class-unserved"];

    // Backends and pod networks: issues 46, 121, 182, 222, 270, 329, 434.
    every_node_is_a_master: |c| c.nodes.iter_mut().for_each(|node| with_label(node, "node-role.kubernetes.io/master")) => ["error ali-svc-no-backend"];
    a_node_without_a_route: |c| { c.routes = true; without_route(c.worker()) } => ["error ali-network-unavailable"];
    a_node_without_a_range: |c| {
        c.routes = true;
        c.worker()["spec"]["podCIDR"] = json!("");
        without_route(c.worker());
    } => ["error ali-pod-cidr-missing"];
    two_nodes_with_one_range: |c| {
        c.routes = true;
        c.worker()["spec"]["podCIDR"] = json!("172.16.0.0/24");
    } => ["error ali-pod-cidr-shared"];
    two_nodes_with_one_range_and_no_routes: |c| for node in &mut c.nodes {
        node["spec"]["podCIDR"] = json!("172.16.0.0/24");
    } => [];
}

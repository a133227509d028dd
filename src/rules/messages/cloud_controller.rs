//! Messages of the cloud controller of AWS, and of the library that all cloud controllers share.

use super::{CLOUD_CONTROLLER as CCM, Message, defect, harmless};

const ANY: &str = "cloud controller";
const KCM: &str = "kube-controller-manager";

/// Beginnings of the providerIDs that other clouds write.
const OTHER_SCHEMES: &[&str] = &[
    "azure://",
    "digitalocean://",
    "gce://",
    "hcloud://",
    "kubevirt://",
    "nutanix://",
    "openstack://",
    "proxmox://",
    "scaleway://",
    "vsphere://",
];

/// Words of the controllers of other clouds.
const OTHER_CLOUDS: &[&str] = &["azure", "aks-", "equinix", "vsphere", "gce://", "openstack", "hcloud", "digitalocean"];

pub(super) const MESSAGES: &[Message] = &[
    defect(CCM, &["Multiple tagged secur"], "..1.36", "pkg/providers/v1/aws.go#findSecurityGroupForInstance")
        .rules(&["sg-multiple-tagged-on-instance"])
        .means("two security groups of one node carry the cluster tag, and the first such node stops the sync of every Service"),
    defect(CCM, &["Multiple tagged security groups found for instance"], "..1.36", "pkg/providers/v1/aws.go#findSecurityGroupForInstance")
        .rules(&["sg-multiple-tagged-on-instance"])
        .means("two security groups of one node carry the cluster tag, and the first such node stops the sync of every Service"),
    defect(CCM, &["Multiple untagged security groups found for instance"], "..1.36", "pkg/providers/v1/aws.go#findSecurityGroupForInstance")
        .rules(&["sg-none-tagged-multiple-attached", "cluster-tag-near-miss", "sg-foreign-cluster-attached"])
        .decided_by(&["sg-none-tagged-multiple-attached"])
        .means("a node has several security groups, and none of them carries the cluster tag"),
    defect(CCM, &["Multiple security groups found for instance"], "in-tree ..1.3", "kubernetes pkg/cloudprovider/providers/aws/aws.go#findSecurityGroupForInstance")
        .rules(&["sg-none-tagged-multiple-attached", "sg-multiple-tagged-on-instance"])
        .means("a node has several security groups, and not exactly one carries the cluster tag"),
    defect(CCM, &["No security group found for instance"], "..1.36", "pkg/providers/v1/aws.go#findSecurityGroupForInstance")
        .means("EC2 shows the instance without a security group"),
    defect(CCM, &["could not find any suitable subnets for creating the ELB"], "..1.36", "pkg/providers/v1/aws.go#EnsureLoadBalancer")
        .rules(&["subnet-foreign-cluster-tag", "elb-subnets-none-public", "elb-subnets-none-internal", "subnet-zone-type-unsupported"])
        .decided_by(&["elb-subnets-none-public", "elb-subnets-none-internal"])
        .means("no subnet is left for the scheme of the Service: they are tagged for other clusters, private, or in local zones"),
    defect(CCM, &["could not locate routing table for subnet"], "..1.36", "pkg/providers/v1/aws.go#isSubnetPublic")
        .rules(&["subnet-routetable-unresolvable"])
        .means("a subnet has neither a route table nor the main one of its VPC"),
    defect(CCM, &["Found multiple subnets in AZ"], "..1.36", "pkg/providers/v1/aws.go#findELBSubnets")
        .rules(&["subnet-az-ambiguous"])
        .means("two subnets of a zone rank equal, and the smaller id wins"),
    defect(CCM, &["No tagged subnets found; will fall-back"], "..1.36", "pkg/providers/v1/aws.go#findSubnets")
        .rules(&["subnet-foreign-cluster-tag", "subnet-cluster-tag-missing"])
        .means("all subnets are tagged for other clusters, and the controller takes the subnet that it runs in"),
    defect(CCM, &["Kubernetes may behave unexpectedly"], "..1.36", "pkg/providers/v1/tags.go#initFromTags")
        .rules(&["instance-cluster-tag-missing", "cluster-tag-near-miss", "cluster-tag-empty-id"])
        .means("the instance on which the controller runs carries no cluster tag")
        .host(),
    defect(CCM, &["AWS cloud failed to find ClusterID"], "..1.36", "pkg/providers/v1/tags.go#init")
        .rules(&["instance-cluster-tag-missing", "cluster-tag-near-miss", "cluster-tag-empty-id"])
        .means("the instance on which the controller runs carries no cluster tag")
        .host(),
    defect(CCM, &["no ClusterID found"], "..1.36", "cmd/aws-cloud-controller-manager/main.go#cloudInitializer")
        .rules(&["instance-cluster-tag-missing", "cluster-tag-near-miss", "cluster-tag-empty-id"])
        .means("the instance on which the controller runs carries no cluster tag, and the controller exits")
        .host(),
    defect(CCM, &["Tag \"KubernetesCluster\" nor", "not found"], "..1.36", "pkg/providers/v1/tags.go#initFromTags")
        .rules(&["instance-cluster-tag-missing", "cluster-tag-near-miss", "cluster-tag-empty-id"])
        .means("the instance on which the controller runs carries no cluster tag")
        .host(),
    harmless(CCM, &["AWS cloud filtering on ClusterID"], "..1.36", "pkg/providers/v1/tags.go#init")
        .conditions(&["controlplane-cluster-id-disagreement", "cluster-id-unexpected"])
        .means("the cluster id that the controller took from its instance"),
    defect(CCM, &["detected a cluster without a ClusterID"], "1.20..1.36", "cmd/aws-cloud-controller-manager/main.go#cloudInitializer")
        .rules(&["instance-cluster-tag-missing", "cluster-tag-near-miss", "cluster-tag-empty-id"])
        .unless(&["\"azure\"", "\"gce\"", "\"openstack\"", "\"vsphere\""])
        .means("the instance on which the controller runs carries no cluster tag")
        .host(),
    defect(CCM, &["Found multiple KubernetesCluster tags"], "..1.36", "pkg/providers/v1/tags.go#findClusterIDs")
        .rules(&["instance-cluster-tag-conflict", "instance-legacy-tag-mismatch"])
        .means("the instance on which the controller runs carries the legacy tag twice")
        .host(),
    defect(CCM, &["Found multiple cluster tags with prefix"], "..1.36", "pkg/providers/v1/tags.go#findClusterIDs")
        .rules(&["instance-cluster-tag-conflict", "cluster-tag-empty-id"])
        .means("the instance on which the controller runs carries the tags of two clusters")
        .host(),
    defect(CCM, &["clusterID tags did not match"], "..1.36", "pkg/providers/v1/tags.go#init")
        .rules(&["instance-legacy-tag-mismatch", "instance-cluster-tag-conflict"])
        .means("the legacy tag and the cluster tag name different clusters")
        .host(),
    defect(CCM, &["error fetching instance-id from ec2 metadata service"], "..1.36", "pkg/providers/v1/aws.go#buildSelfAWSInstance")
        .rules(&["imds-hop-limit-low", "ccm-not-host-network"])
        .means("the metadata service does not answer the controller")
        .over_refusal()
        .metadata(),
    defect(CCM, &["failed to get instance metadata for node", "failed to get instance by ID", "instance not found"], "1.32..1.36", "pkg/providers/v1/instances_v2.go#InstanceMetadata")
        .rules(&["node-without-instance", "node-provider-id-invalid"])
        .means("EC2 does not list the instance that the providerID of the Node names"),
    defect(CCM, &["failed to get instance by ID"], "1.32..1.36", "pkg/providers/v1/instances_v2.go#InstanceMetadata")
        .rules(&["node-without-instance", "node-name-mismatch"])
        .means("EC2 does not list the instance of the Node"),
    defect(CCM, &["failed to map provider ID to AWS instance ID"], "1.32..1.36", "pkg/providers/v1/instances_v2.go#InstanceMetadata")
        .rules(&["node-provider-id-invalid", "ccm-wrong-cloud-provider"])
        .means("the providerID of the Node is not that of an EC2 instance"),
    defect(CCM, &["failed to map provider ID to AWS instance ID", "rke2://"], "..1.36", "pkg/providers/v1/instances.go#MapToAWSInstanceID")
        .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
        .means("the Node belongs to the embedded controller of RKE2, whose providerID cannot be changed"),
    defect(CCM, &["failed to map provider ID to AWS instance ID", "k3s://"], "..1.36", "pkg/providers/v1/instances.go#MapToAWSInstanceID")
        .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
        .means("the Node belongs to the embedded controller of K3s, whose providerID cannot be changed"),
    defect(CCM, &["Invalid scheme for AWS instance", "rke2://"], "..1.36", "pkg/providers/v1/instances.go#MapToAWSInstanceID")
        .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
        .means("the Node belongs to the embedded controller of RKE2, whose providerID cannot be changed"),
    defect(CCM, &["Invalid scheme for AWS instance", "k3s://"], "..1.36", "pkg/providers/v1/instances.go#MapToAWSInstanceID")
        .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
        .means("the Node belongs to the embedded controller of K3s, whose providerID cannot be changed"),
    defect(CCM, &["Invalid scheme for AWS instance"], "..1.36", "pkg/providers/v1/instances.go#MapToAWSInstanceID")
        .rules(&["node-provider-id-invalid", "ccm-wrong-cloud-provider"])
        .means("the providerID of the Node is not that of an EC2 instance"),
    defect(CCM, &["Invalid scheme for AWS instance", "://"], "..1.36", "pkg/providers/v1/instances.go#MapToAWSInstanceID")
        .with_one_of(OTHER_SCHEMES)
        .rules(&["ccm-wrong-cloud-provider", "node-provider-id-invalid"])
        .means("the controller of another cloud wrote the providerID of the Node"),
    defect(CCM, &["failed to map provider ID to AWS instance ID", "://"], "1.32..1.36", "pkg/providers/v1/instances_v2.go#InstanceMetadata")
        .with_one_of(OTHER_SCHEMES)
        .rules(&["ccm-wrong-cloud-provider", "node-provider-id-invalid"])
        .means("the controller of another cloud wrote the providerID of the Node"),
    defect(CCM, &["unable to parse ProviderID", "://"], "..1.36", "pkg/providers/v1/instances.go#mapToAWSInstanceIDsTolerant")
        .with_one_of(OTHER_SCHEMES)
        .rules(&["ccm-wrong-cloud-provider", "node-provider-id-invalid"])
        .means("the controller of another cloud wrote the providerID of the Node"),
    defect(CCM, &["error describing subnets", "InvalidSubnetID.NotFound"], "..1.36", "pkg/providers/v1/aws.go#resolveSubnetNameOrIDs")
        .rules(&["svc-subnets-unresolved"])
        .means("a subnet of the annotation does not exist"),
    defect(CCM, &["CertificateNotFound: Server Certificate"], "..1.36", "pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer")
        .rules(&["svc-certificate-elsewhere"])
        .in_context()
        .means("the certificate is not in this region, or was deleted"),
    defect(CCM, &["Could not create route ", " for node ", ": instance not found"], "..1.36", "pkg/providers/v1/aws_routes.go#CreateRoute")
        .rules(&["node-name-mismatch", "node-without-instance", "instance-cluster-tag-missing"])
        .unless(OTHER_CLOUDS)
        .means("the controller finds no instance with the name of the Node, and creates no route"),
    defect(CCM, &["error creating AWS route", "RouteAlreadyExists"], "..1.36", "pkg/providers/v1/aws_routes.go#CreateRoute")
        .in_context()
        .means("the route table has a route to the range of the Node already, which the controller does not take for its own"),
    defect(CCM, &["error listing AWS instances", "AuthFailure"], "..1.36", "pkg/providers/v1/aws.go#getInstancesByIDs")
        .means("AWS does not know the credentials: keys that were deleted, or a clock that is wrong"),
    defect(CCM, &["error listing AWS instances", "RequestExpired"], "..1.36", "pkg/providers/v1/aws.go#getInstancesByIDs")
        .means("the credentials have expired, or the clock is wrong"),
    defect(CCM, &["in tagging EC2 instance", "TagLimitExceeded"], "..1.36", "pkg/controllers/tagging/tagging_controller.go")
        .means("the instance has as many tags as it may have"),
    harmless(CCM, &["in tagging EC2 instance", "RequestLimitExceeded"], "..1.36", "pkg/controllers/tagging/tagging_controller.go")
        .means("EC2 throttles; the controller repeats"),
    harmless(CCM, &["Error occurred trying to batch tag resources, trying individually"], "1.29..1.36", "pkg/providers/v1/create_tags_batch.go")
        .conditions(&["node-without-instance"])
        .means("one call for several resources failed, and each is tagged alone"),
    harmless(CCM, &["Ignoring security group with no cluster tag"], "..1.36", "pkg/providers/v1/aws.go#updateInstanceSecurityGroupsForLoadBalancer")
        .means("a group with a rule for the load balancer is not one of the cluster, and stays as it is"),
    harmless(CCM, &["Exceeded ec2:DescribeInstanceTopology request limits"], "1.30..1.36", "pkg/resourcemanagers/topology.go#GetNodeTopology")
        .means("EC2 throttles; the controller repeats"),
    defect(CCM, &["error creating load balancer", "InvalidSecurityGroup"], "..1.36", "Elastic Load Balancing API reference, CreateLoadBalancer")
        .conditions(&["svc-sync-fails"])
        .in_context()
        .means("a security group of the annotation does not exist, or is of another VPC"),
    defect(CCM, &["error describe availability zones", "dial tcp"], "1.27..1.36", "pkg/providers/v1/zones.go#populate")
        .conditions(&["ccm-dns-policy"])
        .means("EC2 is not reached: network, proxy or DNS"),
    harmless(CCM, &["error describe availability zones", "RequestLimitExceeded"], "1.27..1.36", "pkg/providers/v1/zones.go#populate")
        .means("EC2 throttles; the controller repeats"),
    defect(CCM, &["Invalid format for AWS instance"], "..1.36", "pkg/providers/v1/instances.go#MapToAWSInstanceID")
        .rules(&["node-provider-id-invalid"])
        .means("the providerID of the Node is not that of an EC2 instance"),
    defect(CCM, &["unable to parse ProviderID", "rke2://"], "..1.36", "pkg/providers/v1/instances.go#mapToAWSInstanceIDsTolerant")
        .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
        .means("the Node belongs to the embedded controller of RKE2"),
    defect(CCM, &["unable to parse ProviderID", "k3s://"], "..1.36", "pkg/providers/v1/instances.go#mapToAWSInstanceIDsTolerant")
        .rules(&["ccm-wrong-cloud-provider", "embedded-ccm-still-on"])
        .means("the Node belongs to the embedded controller of K3s"),
    defect(CCM, &["error finding instance", "instance not found"], "..1.36", "pkg/providers/v1/aws.go#buildSelfAWSInstance")
        .means("EC2 does not list the instance on which the controller runs: another region or account"),
    defect(CCM, &["Only TCP LoadBalancer is supported for AWS ELB"], "in-tree ..1.20", "kubernetes pkg/cloudprovider/providers/aws/aws.go")
        .rules(&["svc-protocol-unsupported"])
        .means("a Classic Load Balancer takes TCP alone"),
    defect(CCM, &["unable to determine AWS zone from cloud provider config or EC2 instance metadata"], "1.20..1.27", "pkg/providers/v1/aws.go#updateConfigZone")
        .rules(&["imds-hop-limit-low", "ccm-not-host-network"])
        .means("the metadata service does not answer the controller")
        .metadata(),
    defect(CCM, &["error creating AWS metadata client"], "..1.36", "pkg/providers/v1/aws.go#newAWSCloud")
        .rules(&["imds-hop-limit-low", "ccm-not-host-network"])
        .means("the metadata service does not answer the controller")
        .metadata(),
    harmless(CCM, &["Revoking ingress was not needed; concurrent change"], "..1.36", "pkg/providers/v1/aws.go#updateInstanceSecurityGroupsForLoadBalancer")
        .means("the rule did not exist any more"),
    harmless(CCM, &["No region found in the image reference, the default region"], "1.20..1.36", "cmd/ecr-credential-provider/main.go")
        .means("the image is of the public registry, which has one region"),
    defect(CCM, &["unable to parse ProviderID"], "..1.36", "pkg/providers/v1/instances.go#mapToAWSInstanceIDsTolerant")
        .rules(&["node-provider-id-invalid"])
        .means("the providerID of a Node does not name an EC2 instance, and the controller skips the Node"),
    defect(CCM, &["did not have ProviderID set"], "..1.36", "pkg/providers/v1/instances.go#mapToAWSInstanceIDsTolerant")
        .rules(&["node-provider-id-missing", "node-uninitialized-stuck"])
        .means("a Node has no providerID yet, and the controller skips it"),
    defect(CCM, &["multiple instances found for name"], "..1.36", "pkg/providers/v1/aws.go#findInstanceByNodeName")
        .rules(&["node-provider-id-shared", "node-name-mismatch"])
        .means("several instances have the private DNS name of the Node"),
    defect(CCM, &["Ignoring port without NodePort defined"], "..1.36", "pkg/providers/v1/aws.go#EnsureLoadBalancer")
        .rules(&["svc-no-node-port"])
        .means("a port without node port gets no listener"),
    defect(CCM, &["LoadBalancerIP cannot be specified for AWS ELB"], "..1.36", "pkg/providers/v1/aws.go#EnsureLoadBalancer")
        .rules(&["svc-field-unsupported"])
        .means("the controller refuses `spec.loadBalancerIP`"),
    defect(CCM, &["unsupported load balancer affinity"], "..1.36", "pkg/providers/v1/aws.go#EnsureLoadBalancer")
        .rules(&["svc-field-unsupported"])
        .means("the controller refuses `sessionAffinity: ClientIP`"),
    defect(CCM, &["mixed protocol is not supported for LoadBalancer"], "1.22..1.36", "pkg/providers/v1/aws.go#checkMixedProtocol")
        .rules(&["svc-protocol-unsupported"])
        .means("the ports of the Service have several protocols"),
    defect(CCM, &["Protocol ", " not supported by LoadBalancer"], "..1.36", "pkg/providers/v1/aws.go#checkProtocol")
        .rules(&["svc-protocol-unsupported"])
        .means("a Classic Load Balancer takes TCP alone, and a Network Load Balancer TCP and UDP"),
    defect(CCM, &["Must have same number of EIP AllocationIDs"], "..1.36", "pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancerv2")
        .rules(&["svc-static-ip-count", "svc-sync-fails"])
        .means("the Service names another number of addresses than the load balancer has subnets"),
    defect(CCM, &["expected to find ", " subnets", "but found"], "1.21..1.36", "pkg/providers/v1/aws.go#resolveSubnetNameOrIDs")
        .rules(&["svc-subnets-unresolved"])
        .means("a subnet of the annotation does not exist in the VPC, or its name is not unique"),
    defect(CCM, &["unable to resolve empty subnet slice"], "1.21..1.36", "pkg/providers/v1/aws.go#resolveSubnetNameOrIDs")
        .rules(&["svc-subnets-unresolved", "svc-sync-fails"])
        .means("the annotation `aws-load-balancer-subnets` is empty"),
    defect(CCM, &["error parsing service annotation"], "..1.36", "pkg/providers/v1/aws.go#EnsureLoadBalancer")
        .rules(&["svc-annotation-value"])
        .means("the value of an annotation is not of the type that it needs"),
    defect(CCM, &["but the only value supported currently"], "..1.36", "pkg/providers/v1/aws.go#EnsureLoadBalancer")
        .rules(&["svc-annotation-value"])
        .means("the annotation takes one value, `*`"),
    defect(CCM, &["cannot update Load Balancer Type annotation"], "1.36", "pkg/providers/v1/aws_validations.go#validateServiceAnnotations")
        .rules(&["svc-type-annotation-changed", "svc-host-name-not-classic"])
        .means("the type of a load balancer cannot change after its creation"),
    defect(CCM, &["BYO extra security group annotation", "is not supported by NLB"], "1.35..1.36", "pkg/providers/v1/aws_validations.go#validateServiceAnnotations")
        .rules(&["svc-annotation-no-effect", "svc-sync-fails"])
        .means("the annotation is for Classic Load Balancers alone, and stops the sync"),
    defect(CCM, &["is not supported by NLB"], "1.35..1.36", "pkg/providers/v1/aws_validations.go#validateServiceAnnotations")
        .rules(&["svc-annotation-no-effect", "svc-sync-fails"])
        .means("the annotation is for Classic Load Balancers alone, and stops the sync"),
    defect(CCM, &["target group attributes annotation is only supported for NLB"], "1.35..1.36", "pkg/providers/v1/aws_validations.go#validateServiceAnnotations")
        .rules(&["svc-annotation-no-effect", "svc-sync-fails"])
        .means("the annotation is for Network Load Balancers alone, and stops the sync"),
    defect(CCM, &["RulesPerSecurityGroupLimitExceeded"], "..1.36", "pkg/providers/v1/aws.go#setSecurityGroupIngress")
        .rules(&["sg-rules-near-limit", "sg-rules-over-quota", "svc-sync-fails"])
        .means("a security group would have more rules than the quota of the account: count source ranges times ports and, in an existing group, the rules already there"),
    defect(CCM, &["CertificateNotFound: Certificate"], "..1.36", "pkg/providers/v1/aws_loadbalancer.go#createListenerV2")
        .rules(&["svc-certificate-elsewhere"])
        .means("the certificate is not in this region, or was deleted"),
    defect(CCM, &["UnsupportedCertificate: The certificate"], "..1.36", "pkg/providers/v1/aws_loadbalancer.go#createListenerV2")
        .means("Elastic Load Balancing does not support the certificate: its key, signature or name"),
    defect(CCM, &["InvalidSubnet", "Not enough IP space available"], "..1.36", "Elastic Load Balancing API reference, CreateLoadBalancer")
        .rules(&["subnet-low-free-ips"])
        .means("a subnet has fewer than eight free addresses"),
    defect(CCM, &["error detaching AWS loadbalancer from subnets"], "..1.36", "pkg/providers/v1/aws_loadbalancer.go#ensureLoadBalancer")
        .rules(&["subnet-foreign-cluster-tag", "elb-subnets-none-public", "subnet-az-ambiguous"])
        .means("the subnets that are chosen today leave the load balancer none"),
    harmless(CCM, &["Ignoring DependencyViolation while deleting load-balancer security group"], "..1.36", "pkg/providers/v1/aws.go#deleteSecurityGroupsWithBackoff")
        .conditions(&["orphan-security-group"])
        .means("the load balancer is still being deleted; after ten minutes it is an error"),
    defect(CCM, &["timed out deleting ELB"], "..1.33", "pkg/providers/v1/aws.go#EnsureLoadBalancerDeleted")
        .rules(&["orphan-security-group", "sg-single-untagged"])
        .means("a security group of the load balancer is still in use, and stays"),
    defect(CCM, &["could not delete security groups", "for Load Balancer"], "1.34..1.36", "pkg/providers/v1/aws.go#deleteSecurityGroupsWithBackoff")
        .rules(&["orphan-security-group", "sg-single-untagged"])
        .means("a security group of the load balancer is still in use, and stays"),
    defect(CCM, &["has tag belonging to another cluster"], "..1.36", "pkg/providers/v1/tags.go#readRepairClusterTags")
        .rules(&["cluster-tag-value-invalid", "resource-owned-and-shared"])
        .means("the cluster tag of a resource that the controller owns has another value than `owned`"),
    defect(CCM, &["unable to find route table for AWS cluster"], "..1.36", "pkg/providers/v1/aws_routes.go#findRouteTable")
        .rules(&["route-table-tag-count"])
        .means("no route table carries the cluster tag"),
    defect(CCM, &["found multiple matching AWS route tables for AWS cluster"], "..1.36", "pkg/providers/v1/aws_routes.go#findRouteTable")
        .rules(&["route-table-tag-count"])
        .means("several route tables carry the cluster tag"),
    defect(CCM, &["RouteLimitExceeded"], "..1.36", "pkg/providers/v1/aws_routes.go#CreateRoute")
        .means("the route table has as many routes as the account allows")
        .in_context(),
    defect(CCM, &["error configuring source-dest-check on instance"], "..1.36", "pkg/providers/v1/aws_routes.go#configureInstanceSourceDestCheck")
        .rules(&["instance-source-dest-check"])
        .means("the controller cannot turn the source/destination check off"),
    defect(CCM, &["unknown cloud provider ", ", only 'aws'"], "..1.36", "cmd/aws-cloud-controller-manager/main.go#cloudInitializer")
        .rules(&["ccm-cloud-provider-flag"])
        .means("`--cloud-provider` of the controller must be `aws`"),
    defect("AWS", &["NoCredentialProviders"], "AWS SDK for Go v1", "aws-sdk-go aws/credentials/chain_provider.go")
        .rules(&["imds-hop-limit-low", "instance-profile-missing", "controller-metadata-unreachable"])
        .means("the controller has no credentials: neither a separate role, nor those of the metadata service")
        .metadata()
        .in_context(),
    defect("AWS", &["no EC2 IMDS role found"], "AWS SDK for Go v2", "aws-sdk-go-v2 credentials/ec2rolecreds")
        .rules(&["imds-hop-limit-low", "instance-profile-missing", "controller-metadata-unreachable"])
        .means("the controller has no credentials: neither a separate role, nor those of the metadata service")
        .metadata()
        .in_context(),
    harmless(CCM, &["Got RequestLimitExceeded error on AWS request"], "..1.36", "pkg/providers/v1/retry_handler.go#delayAfterRetry")
        .means("EC2 throttles; the controller waits and repeats"),
    harmless(CCM, &["Inserting delay before AWS request"], "..1.36", "pkg/providers/v1/retry_handler.go#delayPreSign")
        .means("the controller slows down to avoid throttling"),
    harmless(CCM, &["Error occurred trying to batch describe instance"], "1.34..1.36", "pkg/providers/v1/describe_instance_batch.go#execDescribeInstanceBatch")
        .conditions(&["node-without-instance"])
        .means("one instance of a batch does not exist; the controller asks for each alone"),
    defect(CCM, &["Error in tagging EC2 instance", "InvalidID"], "..1.36", "pkg/controllers/tagging/tagging_controller.go#tagEc2Instance")
        .rules(&["node-without-instance", "node-provider-id-invalid"])
        .means("the instance of a Node does not exist"),
    defect(CCM, &["Error in tagging EC2 instance", "InvalidInstanceID"], "..1.36", "pkg/controllers/tagging/tagging_controller.go#tagEc2Instance")
        .rules(&["node-without-instance", "node-provider-id-invalid"])
        .means("the instance of a Node does not exist"),
    harmless(CCM, &["node is within eventual consistency grace period"], "1.23..1.36", "pkg/controllers/tagging/tagging_controller.go#tagEc2Instance")
        .means("EC2 does not show a new instance yet; the controller repeats"),
    defect(CCM, &["Not authorized to perform: ec2:DescribeInstanceTopology"], "1.30..1.36", "pkg/providers/v1/topology.go#GetNodeTopology")
        .rules(&["iam-controller-action-missing", "iam-action-missing"])
        .means("nodes get no labels of their network topology; nothing else fails")
        .over_refusal(),
    defect(CCM, &["error describe availability zones"], "1.26..1.36", "pkg/providers/v1/zones.go#populate")
        .rules(&["iam-controller-action-missing", "node-uninitialized-stuck"])
        .means("from 1.30 on Nodes are not initialised without `ec2:DescribeAvailabilityZones`")
        .over_refusal(),
    harmless(CCM, &["Allowing ingress was not needed; concurrent change? groupId="], "..1.36", "pkg/providers/v1/aws.go#updateInstanceSecurityGroupsForLoadBalancer")
        .conditions(&["ccm-duplicate", "sg-tagged-for-several-clusters"])
        .means("the rule existed already"),
    defect(CCM, &["unable to read AWS cloud provider config file"], "..1.36", "pkg/providers/v1/aws.go#init")
        .rules(&["ccm-cloud-config-invalid"])
        .means("the cloud configuration is not valid"),
    // The library of all cloud controllers: EC2's own words must tell the cloud.
    defect(ANY, &["failed to get instance metadata for node", "instance not found"], "0.20..0.36", "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode")
        .rules(&["node-name-mismatch", "instance-cluster-tag-missing", "vpc-dhcp-custom-domain", "vpc-dns-attributes-disabled", "node-uninitialized-stuck"])
        .means("the controller finds no instance with the name of the Node")
        .unless(OTHER_CLOUDS),
    defect(ANY, &["failed to get provider ID for node", "instance not found"], "0.20..0.29", "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode")
        .rules(&["node-name-mismatch", "instance-cluster-tag-missing", "vpc-dhcp-custom-domain", "vpc-dns-attributes-disabled", "node-uninitialized-stuck"])
        .means("the controller finds no instance with the name of the Node")
        .unless(OTHER_CLOUDS),
    defect(ANY, &["cloud provider does not set node provider ID"], "0.19..0.36", "kubernetes/cloud-provider controllers/node/node_controller.go#getInstanceMetadata")
        .rules(&["ccm-version-skew"])
        .means("the controller gave no providerID, as those for AWS did only in old versions"),
    defect(ANY, &["failed to get node address from cloud provider that matches ip"], "0.24..0.36", "kubernetes/cloud-provider node/helpers/address.go#GetNodeAddressesFromNodeIP")
        .rules(&["node-provided-ip-mismatch"])
        .means("the address that the kubelet was given is not one of the instance"),
    defect(ANY, &["Error getting instance metadata for node addresses", "instance not found"], "0.20..0.36", "kubernetes/cloud-provider controllers/node/node_controller.go#UpdateNodeStatus")
        .rules(&["node-without-instance", "instance-cluster-tag-missing"])
        .means("EC2 does not list the instance of an initialised Node any more")
        .unless(OTHER_CLOUDS),
    harmless(ANY, &["error checking if node ", "api error Unavailable"], "0.19..0.36", "kubernetes/cloud-provider controllers/nodelifecycle/node_lifecycle_controller.go#MonitorNodes")
        .means("EC2 had a fault; the next pass asks again"),
    harmless(ANY, &["error checking if node ", "RequestLimitExceeded"], "0.19..0.36", "kubernetes/cloud-provider controllers/nodelifecycle/node_lifecycle_controller.go#MonitorNodes")
        .means("EC2 throttles; the next pass asks again"),
    harmless(ANY, &["because it does not exist in the cloud provider"], "0.21..0.36", "kubernetes/cloud-provider controllers/nodelifecycle/node_lifecycle_controller.go#MonitorNodes")
        .conditions(&["node-without-instance"])
        .means("the instance was terminated, and its Node is removed"),
    defect(ANY, &["There are no available nodes for LoadBalancer"], "0.19..0.36", "kubernetes/cloud-provider controllers/service/controller.go#ensureLoadBalancer")
        .rules(&["svc-no-eligible-node", "node-excluded-worker", "ali-node-excluded", "node-provider-id-missing", "ali-provider-id-missing"])
        .means("every Node is excluded from load balancers, or has no providerID"),
    defect(ANY, &["--configure-cloud-routes is set, but cloud provider does not support routes"], "0.21..0.36", "kubernetes/cloud-provider app/core.go#startRouteController")
        .rules(&["ccm-wrong-cloud-provider", "ccm-cloud-provider-flag"])
        .means("the controller runs for another cloud"),
    defect(ANY, &["error running controllers", "invalid CIDR"], "0.20..0.36", "kubernetes/cloud-provider app/core.go#startRouteController")
        .rules(&["ccm-cloud-routes-without-cidr"])
        .means("routes are on, and `--cluster-cidr` is not set or not valid"),
    defect(ANY, &["serviceaccounts", "is forbidden", "cannot get resource \"serviceaccounts\""], "0.20..0.36", "kubernetes/cloud-provider app/controllermanager.go#Run")
        .with_one_of(&["system:serviceaccount:"])
        .rules(&["ccm-rbac-serviceaccount-get", "ccm-rbac-missing"])
        .means("with `--use-service-account-credentials` the controller must read ServiceAccounts"),
    defect(ANY, &["--cloud-provider cannot be empty"], "0.20..0.36", "kubernetes/cloud-provider options/options.go#Validate")
        .rules(&["ccm-cloud-provider-flag"])
        .means("the controller needs `--cloud-provider`"),
    harmless(ANY, &["leaderelection lost"], "0.20..0.36", "kubernetes/cloud-provider app/controllermanager.go#Run")
        .conditions(&["ccm-duplicate"])
        .means("another replica leads, or the API server did not answer in time; the process starts again")
        .unless(&["cert-manager", "karpenter", "external-dns", "kube-scheduler"]),
    defect(KCM, &["kube-controller-manager", "is not in the list of known controllers"], "..1.36", "kubernetes cmd/kube-controller-manager")
        .with_one_of(&["\"cloud", "\"route", "\"service"])
        .rules(&["kcm-controllers-unknown"])
        .means("`--controllers` of kube-controller-manager names one that this version does not have"),
    defect(ANY, &["is not in the list of known controllers", "route"], "0.20..0.36", "kubernetes/cloud-provider options/options.go#Validate")
        .rules(&["ccm-controllers-unknown", "kcm-controllers-unknown"])
        .means("`--controllers` names one that this version does not have"),
    defect(ANY, &["is not in the list of known controllers", "service"], "0.20..0.36", "kubernetes/cloud-provider options/options.go#Validate")
        .rules(&["ccm-controllers-unknown", "kcm-controllers-unknown"])
        .means("`--controllers` names one that this version does not have"),
    defect(ANY, &["is not in the list of known controllers", "cloud"], "0.20..0.36", "kubernetes/cloud-provider options/options.go#Validate")
        .rules(&["ccm-controllers-unknown", "kcm-controllers-unknown"])
        .means("`--controllers` names one that this version does not have"),
    defect(ANY, &["leases", "cloud-controller-manager", "is forbidden"], "..1.36", "k8s.io/client-go tools/leaderelection/leaderelection.go#tryAcquireOrRenew")
        .rules(&["ccm-rbac-missing", "ccm-rbac-subject-mismatch"])
        .means("the ServiceAccount of the controller may not use its lease"),
    defect(ANY, &["system:serviceaccount:kube-system:cloud-controller-manager", "is forbidden", "cannot"], "..1.36", "docs of cloud-provider-aws, examples/existing-cluster")
        .unless(&["cannot get resource \"serviceaccounts\"", "\"ccm\" is forbidden"])
        .rules(&["ccm-rbac-missing", "ccm-rbac-subject-mismatch", "ali-rbac-missing"])
        .means("the ServiceAccount of the controller lacks a right in Kubernetes"),
    defect(ANY, &["Couldn't open cloud provider configuration"], "..1.36", "kubernetes/cloud-provider plugins.go#InitCloudProvider")
        .rules(&["ccm-cloud-config-not-mounted"])
        .means("the file that `--cloud-config` names is not there"),
    harmless(ANY, &["deleting node since it is no longer present in cloud provider"], "..1.36", "kubernetes/cloud-provider controllers/nodelifecycle/node_lifecycle_controller.go#MonitorNodes")
        .conditions(&["node-name-mismatch"])
        .means("the instance of the Node does not exist any more, so the Node is deleted"),
    defect(ANY, &["node.kubernetes.io/network-unavailable", "nodes are available"], "..1.36", "kubernetes pkg/scheduler")
        .rules(&["node-network-unavailable", "ali-network-unavailable"])
        .means("no controller has set up the network of these Nodes: routes, or the network plugin"),
    defect(ANY, &["NoRouteCreated", "RouteController failed to create a route"], "..1.36", "kubernetes/cloud-provider controllers/route/route_controller.go#updateNetworkingCondition")
        .rules(&["node-network-unavailable", "ali-network-unavailable"])
        .means("the route of the Node does not exist: the controller could not create it, or does not write routes"),
    defect(ANY, &["extension-apiserver-authentication", "Unable to get configmap"], "..1.36", "k8s.io/apiserver pkg/server/options/authentication.go")
        .rules(&["ccm-authentication-role-elsewhere"])
        .means("the ServiceAccount lacks the Role `extension-apiserver-authentication-reader` in kube-system"),
    harmless(ANY, &["Neither --kubeconfig nor --master was specified"], "..1.36", "k8s.io/client-go tools/clientcmd/client_config.go")
        .means("the controller uses its ServiceAccount"),
    harmless(ANY, &["Successfully initialized node", "with cloud provider"], "..1.36", "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode")
        .means("a Node was initialised"),
    harmless(ANY, &["EnsuringLoadBalancer", "Ensuring load balancer"], "..1.36", "kubernetes/cloud-provider controllers/service/controller.go#syncLoadBalancerIfNeeded")
        .means("the controller syncs a Service: a later event has the result"),
    harmless(ANY, &["Node synced successfully"], "..1.36", "kubernetes/cloud-provider controllers/node/node_controller.go#syncNode")
        .with_one_of(&["node-controller", "node_controller"])
        .means("a Node was initialised"),
    harmless(ANY, &["controllermanager.go", "Started \"route\""], "..1.36", "kubernetes/cloud-provider app/controllermanager.go#startControllers")
        .means("the controller starts"),
    harmless(ANY, &["controllermanager.go", "\"tagging\" is disabled"], "..1.36", "kubernetes/cloud-provider app/controllermanager.go#startControllers")
        .means("`--controllers` does not name it, or it needs an option that is not set"),
    harmless(ANY, &["Ensured load balancer"], "..1.36", "kubernetes/cloud-provider controllers/service/controller.go#syncLoadBalancerIfNeeded")
        .means("a load balancer was synced"),
    harmless(ANY, &["address annotations not yet set"], "..1.36", "k3s and rke2 pkg/cloudprovider")
        .means("the embedded controller waits for the agent of the Node"),
    defect("Kubernetes", &["was specified, but built-in cloud providers are disabled"], "0.32..0.36", "kubernetes/cloud-provider plugins.go#ErrorForDisabledProvider")
        .unless(&["\"azure\"", "\"gce\"", "\"openstack\"", "\"vsphere\""])
        .rules(&["in-tree-cloud-provider"])
        .means("this version of Kubernetes has no in-tree cloud provider"),
    defect("Kubernetes", &["built-in cloud provider is now disabled"], "0.22..0.31", "kubernetes/cloud-provider plugins.go")
        .rules(&["in-tree-cloud-provider"])
        .means("this version of Kubernetes has no in-tree cloud provider"),
    defect("Kubernetes", &["unknown cloud provider \"aws\""], "..0.31", "kubernetes/cloud-provider plugins.go#InitCloudProvider")
        .rules(&["in-tree-cloud-provider"])
        .means("this version of Kubernetes has no in-tree cloud provider"),
    defect("Kubernetes", &["GetCloudProvider returned <nil>"], "..1.30", "kubernetes pkg/volume/awsebs/attacher.go")
        .rules(&["storageclass-in-tree-provisioner", "pv-in-tree"])
        .means("an in-tree volume needs the in-tree cloud provider, which is not there"),
];

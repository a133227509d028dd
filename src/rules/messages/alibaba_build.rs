//! What the cloud controller of Alibaba Cloud writes when the annotations of a Service do not fit: the errors that
//! `crate::model` prints, among them.

use super::{ALIBABA as CCM, Message, defect};

/// Words of a line of the controller, where its own words are those of other programs too.
const FRAMES: &[&str] =
    &["alicloud", "Error syncing load balancer", "SyncLoadBalancerFailed", "build nlb", "build slb"];

const SERVICE: &[&str] = &["ali-svc-sync-fails"];

pub(super) const MESSAGES: &[Message] = &[
    defect(
        CCM,
        &["create listener", "protocol is not supported"],
        "2.1..2.14",
        "pkg/controller/service/clbv1/listeners.go#Create",
    )
    .rules(SERVICE)
    .means("`protocol-port` has a protocol that classic load balancers do not have"),
    defect(
        CCM,
        &["get vsw id from metadata error"],
        "2.1..2.14",
        "pkg/controller/service/clbv1/loadbalancer.go#setModelDefaultValue",
    )
    .rules(SERVICE)
    .means("the controller found no vSwitch for an internal load balancer"),
    defect(CCM, &["build vgroup for port"], "2.1..2.11", "pkg/controller/service/clbv1/vgroups.go#BuildLocalModel")
        .rules(SERVICE)
        .means("the backends of a port could not be determined; the rest of the line has the reason"),
    defect(
        CCM,
        &["the loadbalancer", "can not be reused"],
        "2.1..2.14",
        "pkg/controller/service/clbv1/model_applier.go#applyLoadBalancer",
    )
    .rules(SERVICE)
    .means("the Service names a load balancer that it cannot have")
    .with_one_of(FRAMES),
    defect(
        CCM,
        &["invalid domain extension"],
        "2.13..2.14",
        "pkg/controller/service/clbv1/listeners.go#parseDomainExtensionsAnnotation",
    )
    .rules(SERVICE)
    .means("the annotation with certificates by domain has another form"),
    defect(
        CCM,
        &["port of listener", "overlaps with listener"],
        "2.11..2.14",
        "pkg/controller/service/nlbv2/listeners.go#checkListenersPortOverlap",
    )
    .rules(SERVICE)
    .means("two ranges of listener ports overlap"),
    defect(
        CCM,
        &["listener port range can only be used for eni backend type service"],
        "2.11..2.14",
        "pkg/controller/service/nlbv2/listeners.go#buildListenerFromServicePort",
    )
    .rules(SERVICE)
    .means("ranges of listener ports need network interfaces as backends"),
    defect(
        CCM,
        &["unsupport server ServerGroupType"],
        "2.8..2.14",
        "pkg/controller/service/nlbv2/server_groups.go#setServerGroupAttributeFromAnno",
    )
    .rules(SERVICE)
    .means("the server group that the Service names is of another type"),
    defect(
        CCM,
        &["default weight must be integer in range"],
        "2.14",
        "pkg/controller/service/clbv1/vgroups.go#buildVGroupForServicePort",
    )
    .rules(SERVICE)
    .means("the annotation `weight` is not a number from 0 to 100"),
    defect(
        CCM,
        &["format must be like", "with colon separated"],
        "2.1..2.14",
        "pkg/controller/service/clbv1/listeners.go#protocol",
    )
    .rules(SERVICE)
    .means("`protocol-port` is not a list such as `https:443`"),
    defect(
        CCM,
        &["start port should be smaller than end port for port range"],
        "2.11..2.14",
        "pkg/controller/service/nlbv2/listeners.go#portRange",
    )
    .rules(SERVICE)
    .means("a range of listener ports ends before it begins"),
    defect(CCM, &["port range [", "is invalid"], "2.11..2.14", "pkg/controller/service/nlbv2/listeners.go#portRange")
        .rules(SERVICE)
        .means("a range of listener ports has another form")
        .with_one_of(FRAMES),
    defect(CCM, &["forward port format error"], "2.1..2.14", "pkg/controller/service/clbv1/listeners.go#forwardPort")
        .rules(SERVICE)
        .means("`forward-port` is not a list such as `80:443`"),
    defect(
        CCM,
        &["cross zone enabled flag error"],
        "2.13..2.14",
        "pkg/controller/service/nlbv2/loadbalancer.go#BuildLocalModel",
    )
    .rules(SERVICE)
    .means("`cross-zone-enabled` is neither `on` nor `off`"),
    defect(
        CCM,
        &["filter nodes by label error"],
        "2.1..2.14",
        "pkg/controller/service/reconcile/backend/backend.go#GetNodes",
    )
    .rules(SERVICE)
    .means("the annotation `backend-label` is not a list such as `k1=v1,k2=v2`"),
];

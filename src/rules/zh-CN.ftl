# Texts of rules in Chinese. Ids, and what is in backticks, are those of the English texts; tests compare them.
# 由规则的英文说明翻译；反引号中的内容与英文相同，由测试核对。

ali-access-key-in-configmap = ConfigMap 中保存了 AccessKey
    .condition = ConfigMap 中有 Cloud Controller Manager（CCM）所用 AccessKey 的两部分：`special.keyid` 和 `special.keysecret`，或 `cloud-config.conf` 的 `accessKeyID` 和 `accessKeySecret`。报告不显示其值。
    .impact = 凡是能读取 kube-system 中 ConfigMap 的人都能得到该 AccessKey，从而拥有对应 RAM 用户的权限
    .fix = 为节点绑定 RAM 角色并删除 AccessKey；在此之前将其保存到 Secret 中。随后轮换 AccessKey：当前的已经泄露。

ali-alb-class-config-missing = IngressClass 引用的 AlbConfig 不存在
    .condition = controller 为 `ingress.k8s.alibabacloud/alb` 的 IngressClass，其参数引用的 `AlbConfig` 不在列表中，或类型不是 AlbConfig。需要提供 AlbConfig。开源 CCM 内置的控制器会忽略这些参数：如果只有它处理 Ingress，则本规则不适用。
    .impact = 控制器不会创建负载均衡：该 class 的所有 Ingress 都没有地址
    .fix = 创建该 AlbConfig，或更正 IngressClass 中的名称。

ali-alb-config-not-reusable = AlbConfig 指定的 ALB 实例无法被控制器复用
    .condition = `AlbConfig` 的 `spec.config.id` 指定的 ALB 实例不在节点所在地域、与节点不在同一 VPC，或带有标签 `ack.aliyun.com` 且值为其他集群的 ID，或带有标签 `ingress.k8s.alibaba/albconfig` 且值为本集群中另一个 `AlbConfig` 的名称。被标签排除在控制器之外的节点不计入。
    .impact = AlbConfig 同步失败，报错 `ResourceNotFound.LoadBalancer`、`is not same with cluster vpc` 或 `belongs to cluster`，相关 Ingress 得不到地址
    .fix = 指定节点所在 VPC 中不属于其他集群的 ALB 实例，或删除 `id`，由控制器创建。

ali-alb-config-unusable = 无法按照 AlbConfig 创建 ALB 实例
    .condition = `AlbConfig` 既没有 `spec.config.id`，状态中也没有负载均衡，并且：`zoneMappings` 中位于节点 VPC 的交换机少于两个，或前两个交换机在同一可用区（控制器只使用前两个）；或没有配置交换机，而 VPC 的交换机都在同一可用区；或 `addressType` 既不是 `Internet` 也不是 `Intranet`。节点必须在同一 VPC 中；被标签排除在控制器之外的节点不计入。
    .impact = 控制器报错 `unable to discover at least two vSwitches` 并停止，或 API 拒绝创建：该 AlbConfig 的 Ingress 没有地址
    .fix = 在 ALB 支持的两个可用区中，指定节点所在 VPC 的交换机。

ali-alb-config-zone-unavailable = 无法在交换机所在可用区创建 ALB 实例
    .condition = `AlbConfig` 的 `zoneMappings` 中前两个交换机在不同可用区，但 `alb:DescribeZones` 没有同时列出这两个可用区；或没有 `zoneMappings`，节点 VPC 的交换机分布在多个可用区，而 `alb:DescribeZones` 列出的可用区少于两个。仅在负载均衡尚不存在且所有节点在同一 VPC 时检查。被标签排除在控制器之外的节点不计入。
    .impact = AlbConfig 同步失败，报错 `unable to discover at least two vSwitches from alb zones`，或 API 拒绝创建：该 AlbConfig 的 Ingress 没有地址
    .fix = 指定位于 `alb:DescribeZones` 所列两个可用区的交换机；VPC 中没有时先创建。

ali-alb-duplicate = 多个 ALB 实例带有同一个 AlbConfig 的标签
    .condition = 同一地域中有两个或更多 ALB 实例带有值为集群 ID 的 `ack.aliyun.com`、标签 `ingress.k8s.alibaba/resource`，以及相同值的 `ingress.k8s.alibaba/albconfig`。
    .impact = AlbConfig 同步失败，报错 `at most one loadBalancer can find by stack tag`：该 AlbConfig 的任何变更都不会生效
    .fix = 找出 DNS 记录所指向的 ALB 实例；删除其余实例，或移除它们的标签。

ali-alb-leftover = ALB 实例属于已删除的 AlbConfig
    .condition = ALB 实例带有值为集群 ID 的 `ack.aliyun.com` 和标签 `ingress.k8s.alibaba/resource`，而 `ingress.k8s.alibaba/albconfig` 的值是集群中不存在的 `AlbConfig`。仅在提供了在线集群的全部 AlbConfig 和所有命名空间的 Service 时检查。
    .impact = 持续产生费用并占用配额；没有控制器会删除它
    .fix = 确认没有 DNS 记录指向它，然后删除。

ali-cloud-config-content = 云配置无效
    .severity = 错误；缺少 `clusterID` 或键需要更高版本的 CCM 时为警告；未知键为提示
    .condition = ConfigMap 的 `cloud-config.conf` 既不是 JSON 也不是 YAML；或 `Global` 下有拼写错误的键、类型错误的值（加引号的数字或布尔值）；或 AccessKey ID 与 Secret 只有其一；或 AccessKey 不是 Base64；或在线集群中的 AccessKey 仍是 YAML 模板中的占位符。只有更高版本控制器才支持的键为警告，其他未知键为提示。缺少 `clusterID` 为警告：控制器会用默认 ID `clusterid` 为负载均衡打标签，所有未设置该项的集群都是如此。
    .impact = 该配置不生效，或控制器无法启动；没有 `clusterID` 时，多个集群的负载均衡带有相同的集群 ID
    .fix = 更正该键；用 `clusterID` 指定集群。

ali-cloud-config-mismatch = 云配置引用了账号中不存在的资源
    .severity = 错误；`clusterID` 为警告
    .condition = ConfigMap 的 `cloud-config.conf` 在 `vpcid`、`vswitchid` 或 `region` 中指定的网络与节点所在网络不同；这些值仅在同时设置 `vpcid` 和 `vswitchid` 时才会读取。或控制器写入路由，而 `routeTableIDs` 中的某个路由表在该地域不存在，或不在节点的 VPC 中。或 `clusterID` 与被审计的 ID 不同。
    .impact = 控制器在错误的位置查找负载均衡、交换机和路由：不会创建，或创建在无法访问节点的位置；`clusterID` 不同时，所创建的资源会带上另一个集群的标签
    .fix = 更正该值；没有 `vpcid` 和 `vswitchid` 时，控制器从所在实例的元数据服务获取。

ali-cloud-config-missing = CCM 没有云配置
    .severity = 错误；2.x 之前的版本或版本未知时为警告
    .condition = 阿里云 CCM 启动时没有 `--cloud-config`。2.x 版本必须提供；更早的版本为警告。
    .impact = CCM 无法启动：`cloud config cannot be empty`
    .fix = 将配置挂载为文件，并用 `--cloud-config` 指定。

ali-cloud-routes-without-cidr = 启用了云路由，但没有 Pod 网段
    .severity = 错误；2.x 之前的版本或版本未知时为警告
    .condition = 阿里云 CCM 既没有 `--configure-cloud-routes=false`，也没有 `--cluster-cidr`。云路由默认启用。
    .impact = CCM 无法启动：`--cluster-cidr must be set when --configure-cloud-routes=true`
    .fix = 添加 `--configure-cloud-routes=false`；如果 Pod 流量由 VPC 路由转发，则添加 `--cluster-cidr`。

ali-cluster-id-default = 集群使用默认 ID
    .condition = 被审计的集群 ID 为 `clusterid`，即配置中没有 `clusterID` 时控制器写入的值；或节点所在 VPC 中有资源带有 `ack.aliyun.com=clusterid`。
    .impact = 账号中所有这类集群共用一个 ID：控制器创建的 ALB 实例会被互相混淆，多个集群复用的负载均衡上同名的 Service 也会混淆；其他负载均衡按 Service 自身的 ID 查找，不受影响
    .fix = 在云配置中设置 `clusterID`；已有负载均衡的标签保持不变。

ali-cluster-id-unexpected = 没有资源属于该集群 ID
    .condition = 已读取的实例都不带有值为该集群 ID 的 `ack.aliyun.com` 或安装工具的标签，也没有 Node 引用任何实例。如果有其他资源带有值为该集群 ID 的 `ack.aliyun.com`，且所有运行中的实例都带有其他集群的标签，则通过：该集群没有节点。
    .impact = 集群的任何内容都没有检查：本报告的其他结果不涉及任何节点
    .fix = 检查集群 ID；如果实例没有标签，用 --nodes 提供 Node。

ali-controller-unknown = `--controllers` 指定了不存在的控制器
    .severity = 错误；2.x 之前的版本或版本未知时为警告
    .condition = 阿里云 CCM 的 `--controllers` 中有该版本不认识的名称。CCM 支持 `node`、`route`、`service`、`ingress`、`pvtz`，2.5.1 起还支持 `nlb`。与其他云的 CCM 不同，它不支持 `*` 和 `-NAME`。
    .impact = CCM 无法启动：`cannot find controller`
    .fix = 列出需要运行的控制器，例如 `--controllers=node,route,service,nlb`。

ali-controller-version-differs = CCM 的版本与 `--controller-version` 不同
    .condition = `--controller-version` 的版本与阿里云 CCM 镜像的版本不同。审计以镜像版本为准。
    .impact = 无：该选项被忽略
    .fix = 去掉 `--controller-version`，或升级 CCM。

ali-credentials-ignored = CCM 不读取提供给它的凭证
    .condition = 提供给阿里云 CCM 的凭证是任何版本都不读取的：RRSA（ServiceAccount 的 `pod-identity.alibabacloud.com/role-name`、`ALIBABA_CLOUD_ROLE_ARN`）、`ALIBABA_CLOUD_ACCESS_KEY_ID`，或单独的 `ACCESS_KEY_ID` 或 `ACCESS_KEY_SECRET`。CCM 依次读取 ACK 挂载的文件、云配置中的 AccessKey、同时设置的这两个环境变量，以及所在节点的 RAM 角色。已有 AccessKey 的 CCM 不检查。
    .impact = CCM 使用所在节点的 RAM 角色，只有该角色的权限
    .fix = 将权限授予节点的 RAM 角色，或用 `accessKeyID` 和 `accessKeySecret` 提供 AccessKey。

ali-feature-gate-invalid = CCM 因特性门控退出
    .severity = 错误；任何版本都没有、但可能来自某个库的门控为警告
    .condition = 云配置的 `featureGates` 中有没有值的条目、值不是布尔值的条目，或该版本 CCM 没有的门控。`AllAlpha` 和 `AllBeta` 始终有效。
    .impact = CCM 启动时退出（`missing bool value`、`invalid value`、`unrecognized feature gate`）
    .fix = 更正 `featureGates`，或删除该条目。

ali-flag-ignored = CCM 的某个启动参数不生效
    .severity = 警告；`--allow-untagged-cloud` 为提示
    .condition = 2.x 版本的阿里云 CCM 带有会被接受但被忽略的参数：2.9.1 之前的 `--feature-gates`（门控由云配置决定），或已弃用的 `--allow-untagged-cloud`。
    .impact = CCM 的行为与没有该参数时相同
    .fix = 删除该参数；在云配置中用 `featureGates` 设置门控。

ali-flag-invalid = CCM 启动参数的值无效
    .condition = 2.x 版本的阿里云 CCM 有参数值无法按类型解析：布尔值（`--configure-cloud-routes`）、带单位的时长（`--route-reconciliation-period`）、整数（`--concurrent-service-syncs`）或数字；或 `--max-concurrent-actions` 或 `--max-throttling-retry-times` 不是正数。
    .impact = CCM 无法启动：`invalid argument` 或 `must be set to a positive integer`
    .fix = 更正该值。

ali-flag-removed = CCM 的启动参数在该版本中不存在
    .severity = 错误；2.x 移除的参数用于更早的版本或版本未知时为警告
    .condition = 阿里云 CCM 带有该版本没有的参数：2.x 移除的参数，例如 `--address` 或 `--profiling`（更早的版本为警告）；1.x 上使用 2.x 的参数，例如 `--controllers`；2.9.1 起的 `--feature-gates`；2.8.0 起的 `--sync-period`；2.2.0 之前的 `--allocate-node-cidrs`；2.11.2 之前的 `--max-concurrent-actions`；2.12.4 之前的 `--enable-imdsv2`；或任何版本都没有的参数，例如拼写错误。
    .impact = CCM 无法启动：`unknown flag`
    .fix = 删除该参数；监听地址使用 `--metrics-bind-addr` 和 `--health-probe-bind-addr`，门控使用云配置的 `featureGates`。

ali-ingress-crd-version = ALB Ingress 控制器用已移除的 API 注册 CRD
    .condition = 阿里云 CCM 的 `--controllers` 中有 `ingress`，且集群运行 Kubernetes 1.22 或更高版本，或 `--target-kubernetes` 为这样的版本。直到 2.14.0 的所有版本都通过 `apiextensions.k8s.io/v1beta1` 注册 `albconfigs`。
    .impact = CCM 启动时退出，其中所有控制器都停止（`the server could not find the requested resource`）
    .fix = 从 `--controllers` 中删除 `ingress`，单独部署 ALB Ingress Controller。

ali-ingress-unserved = 没有控制器处理该 class 的 ALB Ingress
    .condition = 没有地址的 Ingress 的 class 为 `alb`，或其 IngressClass 的 controller 为 `ingress.k8s.alibabacloud/alb`；CCM 的 `--controllers` 中没有 `ingress`，或有该项但 class 不是它唯一处理的 `alb`；并且整个集群没有 ALB Ingress Controller 的 Deployment。
    .impact = 没有组件会为它创建负载均衡：Ingress 一直没有地址
    .fix = 在 `--controllers` 中添加 `ingress`（仅限 Kubernetes 1.22 之前）、部署 ALB Ingress Controller，或使用其他 class。

ali-installer-tag = 实例缺少安装工具的标签
    .severity = 标签缺失或值不同时为错误；带有其他集群的标签时为警告
    .condition = 使用 --installer 时：节点没有该安装工具写入并据以查找的标签，或标签值不同：Gardener 为 `kubernetes.io/cluster/ID=1`，OpenShift 和 Cluster API 为 `kubernetes.io/cluster/ID=owned`，kOps 为 `KubernetesCluster=ID`；或节点带有其他 ID 的 `kubernetes.io/cluster/`。阿里云的控制器不读取这些标签。
    .impact = 安装工具无法识别该机器：会另外创建一台，或遗留这一台
    .fix = 由安装工具写入该标签；其他工具写入的值说明该机器可能是手动迁移过来的。

ali-instance-classic-network = 节点位于经典网络
    .condition = 集群的实例网络类型为 `classic`。
    .impact = CCM 只支持 VPC：该节点没有路由，也不会加入负载均衡
    .fix = 将节点迁移到 VPC。

ali-instance-role-missing = 控制面节点没有 RAM 角色
    .condition = 运行控制面的实例没有 RAM 角色，也没有指定 CCM 的其他身份，从其配置中也无法得知。
    .impact = CCM 需要配置或环境变量中的 AccessKey，否则无法启动
    .fix = 绑定允许 CCM 所需调用的 RAM 角色，或用 --controller-role 指定 CCM 的身份。

ali-instance-tag-missing = 节点缺少用于查找实例的标签
    .severity = 提示；Node 没有 providerID 且 CCM 为 v2.4 至 v2.10（按该标签查找实例）时为错误
    .condition = 节点没有标签键 `ack.aliyun.com`，或云配置中 `kubernetesClusterTag` 指定的键，且没有带 providerID 的 Node 引用它。v2.4 至 v2.10 的 CCM 按地址和该标签键查找没有 providerID 的 Node 所对应的实例；更早和更新的版本不会这样查找。
    .impact = 如果 Node 没有 providerID，按标签查找实例的 CCM 将找不到它：Node 一直带有 `uninitialized` 污点
    .fix = 为实例添加值为集群 ID 的标签 `ack.aliyun.com`，最好是设置 Node 的 providerID。

ali-kubelet-provider-id-unset = kubelet 注册时没有 providerID
    .condition = 配置中 kubelet 有 `cloud-provider=external` 但没有 `provider-id`，`KubeletConfiguration` 和 kubelet 的 systemd 单元（`KUBELET_EXTRA_ARGS`）中也没有；并且版本已知的阿里云 CCM 声明在同一文件中、是一起给出的文件中唯一的 CCM，或正在集群中运行。只有 v2.4 至 v2.10 按地址和标签查找实例。配置片段（例如 drop-in）不检查：其余部分可能已设置。如果所有 Node 都有 providerID，说明已经设置。
    .impact = 所有 Node 都不会初始化：一直带有污点 `node.cloudprovider.kubernetes.io/uninitialized`，除非机器另行设置了该参数
    .fix = 启动每个 kubelet 时设置 `provider-id=REGION.INSTANCE`，取值来自实例的元数据服务：`region-id` 和 `instance-id`。

ali-load-balancer-allowlist-ignored = 只有允许规则的安全组无法限制负载均衡的访问
    .condition = Service 的公网 NLB 加入的安全组允许部分 IPv4 地址访问某个监听，但没有任何安全组拒绝访问该监听的 IPv4 流量。以下不检查：Service 指定的已有负载均衡、监听端口范围、未记录安全组的负载均衡，以及规则中引用了安全组、前缀列表、端口列表、源端口或目的地址的监听。
    .impact = 该端口对所有人开放：与实例不同，没有拒绝规则时，NLB 接受所有流量
    .fix = 添加拒绝 `0.0.0.0/0` 的规则，其优先级数值大于允许规则；或使用 `loadBalancerSourceRanges`（v2.14.0 起）。

ali-load-balancer-duplicate = 多个负载均衡带有同一个 Service 的标签
    .condition = 节点所在地域中，有两个或更多与 Service 所请求类型相同的负载均衡带有 `kubernetes.do.not.delete`，且值由该 Service 的 UID 得出。以下不检查：用注解 `…-loadbalancer-id` 指定负载均衡或正在删除的 Service，以及 2.3.0 之前的 CCM（使用找到的第一个）。
    .impact = CCM 放弃处理（`find multiple loadbalances by tag`）：该 Service 的监听和后端不再更新
    .fix = 确认客户端使用的是哪一个，然后删除其余的。

ali-load-balancer-leftover = 负载均衡属于已删除的 Service
    .condition = 负载均衡或其安全组带有值为集群 ID 的 `ack.aliyun.com`，以及 `kubernetes.do.not.delete`，而后者的值与任何 Service 的 UID 都不对应。如果没有 `default/kubernetes` 和 kube-system 的 Service，说明所给的 Service 不是全部命名空间的，本规则不适用。
    .impact = 占用配额，负载均衡持续产生费用，没有控制器会删除它
    .fix = 确认没有 DNS 记录指向它，然后删除。

ali-load-balancer-not-reusable = Service 指定了 CCM 不会复用的负载均衡
    .condition = LoadBalancer 类型的 Service 用注解 `…-loadbalancer-id` 指定的负载均衡带有 `ack.aliyun.com` 或 `kubernetes.do.not.delete`（无论值是什么）：它由控制器创建，或属于 API server。
    .impact = CCM 拒绝复用（`can not reuse loadbalancer created by kubernetes`），Service 得不到地址
    .fix = 指定手动创建的负载均衡，或删除该注解，由 CCM 创建。

ali-load-balancer-port-dropped = 安全组拒绝了访问负载均衡某个端口的全部 IPv4 流量
    .condition = Service 的 NLB 加入的安全组拒绝所有 IPv4 地址访问某个监听：综合所有安全组，优先级数值小的规则生效，相同时拒绝规则生效。引用安全组、前缀列表、端口列表、源端口或目的地址的规则按允许计算。以下不检查：Service 指定的已有负载均衡、监听端口范围，以及未记录安全组的负载均衡。
    .impact = 客户端无法通过 IPv4 访问该端口：尽管后端健康，连接仍会超时
    .fix = 添加优先级数值小于拒绝规则的允许规则，或删除该拒绝规则。

ali-load-balancer-port-shared = 多个 Service 写入同一个监听
    .condition = 两个或更多 Service 用注解 `…-loadbalancer-id` 指定同一个负载均衡，都设置了 `…-loadbalancer-force-override-listeners: true`，并且有相同协议的相同端口。使用 `…-loadbalancer-protocol-port`、`…-loadbalancer-vgroup-port` 或 `…-loadbalancer-listener-port-range` 的 Service 不检查。
    .impact = 这些 Service 每次同步都会互相覆盖监听：流量只会到达最后同步的 Service
    .fix = 为这些 Service 使用不同的端口或负载均衡。

ali-load-balancer-tags-near-quota = CLB 的标签数达到 CCM 的上限
    .condition = Service 的 CLB 有十个或更多标签：CCM 将其视为上限，不再添加标签，也不提示。阿里云自身的标签（`acs:…`）不计入。
    .impact = Service 要求的标签不会添加
    .fix = 删除不用的标签。

ali-load-balancer-unusable = 节点无法加入 Service 所指定的负载均衡
    .condition = Service 用注解 `…-loadbalancer-id` 指定的负载均衡在节点所在地域中不存在、类型与 Service 的 class 不同，或位于没有任何节点的 VPC。
    .impact = CCM 找不到它，或无法将节点添加为后端；Service 得不到地址或没有流量
    .fix = 指定节点所在 VPC 的负载均衡，或删除该注解，由 CCM 创建。

ali-metadata-disabled = 元数据服务已关闭，而 CCM 需要访问它
    .condition = 控制面实例关闭了元数据服务（`HttpEndpoint=disabled`），并且有证据表明阿里云 CCM 正在运行。设置了 `METADATA_ENDPOINT` 时不检查。云配置中有 `vpcid`、`vswitchid`、`region` 和 AccessKey 时 CCM 不访问元数据服务，也不检查。
    .impact = CCM 无法获取配置中缺少的地域、VPC、交换机和凭证，因而无法启动
    .fix = 用 `HttpEndpoint=enabled` 开启元数据服务。

ali-metadata-tokens-required = 元数据服务要求令牌，而 CCM 不发送令牌
    .condition = 控制面实例的元数据服务要求令牌（`HttpTokens=required`），而 CCM 不发送令牌：2.12.4 之前的版本，或带有 `--enable-imdsv2=false`。云配置中有 `vpcid`、`vswitchid`、`region` 和 AccessKey 时 CCM 不访问元数据服务，不检查。
    .impact = CCM 无法从元数据服务获取地域、VPC 或 RAM 角色，因而无法启动
    .fix = 将 CCM 升级到 2.12.4 或更高版本，并且不使用 `--enable-imdsv2=false`；在此之前将实例设置为 `HttpTokens=optional`。

ali-network-unavailable = Node 的网络不可用
    .severity = 警告；状况的原因为 `NoRouteCreated` 时为错误
    .condition = 创建超过十分钟的 Node 有状况 `NetworkUnavailable`，或由此产生的污点 `node.kubernetes.io/network-unavailable`。写入路由的 CCM 在初始化每个 Node 时设置该状况（`NoRouteCreated`），路由创建后移除。无响应或正在删除的 Node 不计入；没有 `podCIDR` 的 Node 由 `ali-pod-cidr-missing` 报告。
    .impact = 除容忍该污点的 Pod 外，没有 Pod 会调度到该 Node
    .fix = 使用云路由时，查看 Node 的事件 `CreateRouteFailed` 和 `SyncRouteFailed`：可能是权限不足、有多个路由表却没有 `routeTableIDs`、路由条目配额用尽，或已有相同网段的路由。使用 overlay 网络时，为 CCM 设置 `--configure-cloud-routes=false`，并移除该状况：没有控制器会移除它。

ali-node-excluded = CCM 忽略了一个 Node
    .condition = Node 带有标签 `service.alibabacloud.com/exclude-node` 或 `service.beta.kubernetes.io/exclude-node`。
    .impact = CCM 不会初始化它、不会为它创建路由，也不会将它加入负载均衡；新的 Node 会一直带有未初始化的污点
    .fix = 如果不是有意为之，删除该标签。

ali-node-name-mismatch = Node 的名称属于另一个实例
    .condition = Node 的名称为旧文档推荐的 REGION.INSTANCE 形式，但与其 providerID 不同。其他形式的名称没有问题：只有 providerID 起作用。
    .impact = 机器连同 kubelet 参数一起被克隆：两台机器可能争用同一个 Node
    .fix = 为该 kubelet 设置自己的 `--hostname-override` 和 `--provider-id`。

ali-node-uninitialized = Node 始终没有初始化
    .condition = 有 providerID 的 Node 带有污点 `node.cloudprovider.kubernetes.io/uninitialized`。没有 providerID 的 Node 由 `ali-provider-id-missing` 报告。
    .impact = 只有容忍该污点的 Pod 会调度到该 Node
    .fix = 在 CCM 日志中查找该 Node；从 v2.11.2 起，CCM 还需要 ecs:DescribeNetworkInterfaces 和 ecs:ModifyNetworkInterfaceAttribute 权限，除非带有 --skip-disable-source-dest-check。

ali-node-without-instance = Node 引用的实例不存在
    .condition = 已读取 Node 的 providerID 中的地域，但没有该实例，或该实例位于另一个已读取的地域。如果没有读取该地域，报告会说明，且该 Node 未审计。
    .impact = 一旦 Node 不就绪（`Unknown`），CCM 会将其从集群中删除；在此之前其地址保持不变
    .fix = 如果机器已释放，删除该 Node；如果 providerID 属于另一台机器，重新注册该 Node。

ali-nodes-in-several-vpcs = 节点分布在多个 VPC 中
    .severity = 使用云路由时为警告，否则为提示
    .condition = 集群在同一地域中的实例（不论账号）位于多个 VPC：报告多数节点所在 VPC 以外的实例。Node 已知时，只计入有 Node 的实例，被标签排除在 CCM 之外的 Node 不计入。
    .impact = 一个 VPC 的负载均衡不能以另一个 VPC 的实例为后端，一个 VPC 的路由表也不能以它们为下一跳；如果没有 Node 引用这些实例，可能是两个集群使用了相同的 ID
    .fix = 每个 VPC 使用单独的集群，或用标签 `service.alibabacloud.com/exclude-node` 排除其他 VPC 的 Node。

ali-orphan-disk = 遗留的云盘
    .severity = 警告；集群仍在运行时为提示
    .condition = 云盘状态为 `Available`，带有值为集群 ID 的 `ack.aliyun.com`（CSI 驱动的标签）或安装工具的标签，并且该地域没有集群的节点，也没有不带集群标签的运行中实例。如果提供了 Kubernetes 中的集群状态，则视为集群仍在运行，上述情况不成立。不读取伸缩组：容量不为零的伸缩组会重新创建节点。或者集群仍在运行，云盘由 CSI 驱动为其创建（`createdby=alibabacloud-csi-plugin`），但不在 PersistentVolume 列表中。
    .impact = 没有任何资源使用它，但仍在产生费用
    .fix = 如果数据有用，先创建快照，再删除云盘。回收策略 `Retain` 会有意保留云盘。

ali-orphan-elastic-ip = 没有节点的集群遗留的弹性公网 IP
    .condition = 弹性公网 IP 状态为 `Available`，带有值为集群 ID 的 `ack.aliyun.com` 或安装工具的标签，并且该地域没有集群的节点，也没有不带集群标签的运行中实例。如果提供了 Kubernetes 中的集群状态，或未读取弹性公网 IP，则不适用。
    .impact = 没有任何资源使用它，释放之前持续计费
    .fix = 确认没有 DNS 记录或白名单引用它，然后释放。

ali-orphan-load-balancer = 没有节点的集群遗留的负载均衡
    .condition = 由控制器创建的负载均衡（CLB 和 NLB 带有 `kubernetes.do.not.delete`，ALB 带有 `ingress.k8s.alibaba/resource`）带有值为集群 ID 的 `ack.aliyun.com`，并且该地域没有集群的节点，也没有不带集群标签的运行中实例。如果提供了 Kubernetes 中的集群状态则不适用。有 Service 时由 `ali-load-balancer-leftover` 判断。
    .impact = 持续产生费用并占用配额，没有控制器会删除它
    .fix = 确认没有 DNS 记录指向它，然后删除。

ali-orphan-network-interface = 没有节点的集群遗留的弹性网卡
    .condition = 辅助弹性网卡状态为 `Available`，带有值为集群 ID 的 `ack.aliyun.com`（Terway 的标签）或安装工具的标签，并且该地域没有集群的节点，也没有不带集群标签的运行中实例。如果提供了 Kubernetes 中的集群状态则不适用。不读取伸缩组。
    .impact = 占用 IP 地址，并使其交换机和安全组无法删除
    .fix = 删除该弹性网卡。

ali-orphan-security-group = 没有节点的集群遗留的安全组
    .condition = 安全组带有值为集群 ID 的 `ack.aliyun.com` 或安装工具的标签，没有实例或弹性网卡使用它，并且该地域没有集群的节点，也没有不带集群标签的运行中实例。如果提供了 Kubernetes 中的集群状态则不适用。由阿里云服务托管的安全组不检查。
    .impact = 占用安全组配额，并使其 VPC 无法删除
    .fix = 删除该安全组。

ali-pod-cidr-holds-node = Node 的地址落在某个 Node 的 `podCIDR` 内，且 CCM 写入路由
    .condition = CCM 写入 Pod 网段的路由，并且某个 Node 的内网地址落在它自身或另一个 Node 的 `podCIDR` 网段内。
    .impact = Pod 的路由和交换机的网段包含相同的地址：API 拒绝该路由，或某个 Pod 得到 Node 的地址
    .fix = 选择与 VPC 网段不重叠的 `--cluster-cidr`，并删除 Node 对象让 kubelet 重新注册：`podCIDR` 无法修改。

ali-pod-cidr-missing = Node 没有可供 CCM 写入路由的 Pod 网段
    .condition = CCM 写入 Pod 网段的路由，而 providerID 引用了实例的 Node 带有污点 `node.kubernetes.io/network-unavailable` 或状况 `NetworkUnavailable`，并且没有 `podCIDR`。
    .impact = CCM 不创建路由，并设置状况 `NetworkUnavailable`：Node 一直带有污点 `node.kubernetes.io/network-unavailable`，没有 Pod 能在其上启动
    .fix = 为 kube-controller-manager 设置 `--allocate-node-cidrs=true` 和 `--cluster-cidr`；如果网络由 CNI 插件构建，为 CCM 设置 `--configure-cloud-routes=false`。

ali-pod-cidr-shared = Node 的 Pod 网段重叠，且 CCM 写入路由
    .condition = CCM 写入 Pod 网段的路由，而两个或更多 providerID 引用了实例的 Node 的 `podCIDR` 相同，或一个包含另一个。2.4.0 之前的 CCM 会保留这样的路由，不检查。
    .impact = 每次同步路由都会删除并重建其中一个 Node 的路由（一个网段包含另一个时，是网段较小的 Node）：该 Node 上的 Pod 会有几分钟无法访问
    .fix = 只保留其中一个 Node，删除其余的并让它们重新注册，各自得到自己的网段。

ali-pod-cidr-without-route = 无法在 VPC 中为 Node 的 `podCIDR` 创建路由条目
    .condition = CCM 写入 Pod 网段的路由，而 Node 的 `podCIDR` 的 IPv4 网段与其实例所在 VPC 的某个交换机网段相同、被其包含，或位于 100.64.0.0/10 内。Pod 网段 包含交换机网段时不报告。
    .impact = API 拒绝该路由：Node 一直带有污点 `node.kubernetes.io/network-unavailable`，没有 Pod 能在其上启动
    .fix = 选择与 VPC 的交换机不重叠的 `--cluster-cidr`，并删除 Node 对象让 kubelet 重新注册：`podCIDR` 无法修改。

ali-pool-roles-differ = 同一节点池的节点使用不同的 RAM 角色
    .condition = 集群中同一伸缩组的实例，或 `ack.alibabacloud.com/nodepool-id` 值相同的实例，使用不同的 RAM 角色，或部分没有角色。
    .impact = 在节点池的一个节点上允许的调用，在另一个节点上被拒绝
    .fix = 为它们统一绑定节点池配置中的角色。

ali-probe-port = CCM 的存活探针访问了 CCM 没有监听的端口
    .severity = 错误；使用主机网络时可能有其他进程应答，为警告
    .condition = 2.x 版本 CCM 的存活探针访问的端口与 `--health-probe-bind-addr` 的端口（默认 10258）不同。1.x 版本的 YAML 使用 10252 或 10253。不检查访问其他主机、使用命名端口的探针，以及有多个容器的 Pod。
    .impact = kubelet 会不断重启它
    .fix = 让探针访问 `--health-probe-bind-addr` 所指定端口的 `/healthz`。

ali-provider-id-invalid = Node 的 providerID 无法解析
    .severity = 错误；多于两部分时为警告：多余部分被忽略
    .condition = providerID 中没有点号、地域无效，或属于其他云。除非 CCM 写入路由，否则允许前缀 `alicloud://`。不检查 `ack-hybrid://`，以及带有标签 `service.alibabacloud.com/exclude-node`、`service.beta.kubernetes.io/exclude-node`、`alibabacloud.com/lingjun-worker=true` 或 `type=virtual-kubelet` 的 Node。
    .impact = `externalTrafficPolicy: Cluster` 的负载均衡不再从任何 Node 得到后端：CCM 遇到第一个无法解析的 Node（处于 Ready 状态且没有 `node-role.kubernetes.io/master`）就会放弃整个虚拟服务器组。v2.11 及之前，Service 同步失败。从 v2.12 起，只有 NLB 同步失败；CLB 的服务器组保持原有后端，不再更新也不提示。周期性同步时，一个这样的 Node 可能使整批 Node 停止处理
    .fix = Node 的 providerID 无法修改：删除该 Node，让 kubelet 以 `--provider-id=REGION.INSTANCE` 注册。为阿里云以外的机器添加标签 `service.alibabacloud.com/exclude-node`。

ali-provider-id-missing = Node 没有 providerID
    .severity = 错误；CCM 版本未知，且 v2.4 至 v2.10 能按标签找到实例时为警告
    .condition = Node 的 providerID 为空。v2.4 至 v2.10 的 CCM 会查找唯一一个带有标签 `ack.aliyun.com` 且内网地址为该 Node 唯一内网地址的实例；其他版本直接放弃。
    .impact = Node 一直带有 `uninitialized` 污点，没有地址、可用区和路由；v2.11.2 还会使同一批 Node 都不初始化。一旦它处于 Ready 状态，`externalTrafficPolicy: Cluster` 的负载均衡不再从任何 Node 得到后端
    .fix = 以 `--provider-id=REGION.INSTANCE` 启动 kubelet；对已有的 Node：kubectl patch node NAME -p '{"{"}"spec":{"{"}"providerID":"REGION.INSTANCE"{"}"}{"}"}'。

ali-provider-id-shared = 多个 Node 的 providerID 相同
    .condition = 两个或更多 Node 的 providerID 引用相同的地域和实例。
    .impact = CCM 为它们全部设置该实例的地址：发往其他 Node 的流量到达错误的机器，通往其 Pod 的路由也是如此
    .fix = 删除不属于该实例的 Node，让它们的 kubelet 以自己的 `--provider-id` 注册。

ali-rbac-missing = CCM 缺少 Kubernetes 权限
    .condition = 2.x 版本阿里云 CCM 的 ServiceAccount 已绑定角色，但没有角色授予 CCM 的 YAML 对 nodes、services、endpoints、events 或 kube-system 中 leases 所授予的某项权限。启用特性门控 `EndpointSlice`（2.9.1 起默认启用）时，还需要读取 endpointslices。未提供内容的已绑定角色视为已授予该权限。
    .impact = 没有 leases 权限就无法成为 leader，不会做任何事；缺少其他权限时调用被拒绝（`forbidden`）
    .fix = 在其 ClusterRole 中添加该权限。kubernetes/cloud-provider-alibaba-cloud 的 docs/examples/cloud-controller-manager.yml 中的 ClusterRole 包含全部权限。

ali-route-table-omitted = 部分节点所在交换机的路由表不在 CCM 的写入范围内
    .condition = CCM 写入路由（由其启动参数或 --cloud-routes 得知），云配置用 `routeTableIDs` 指定了路由表，而某个有节点的交换机使用其他路由表。被标签排除在 CCM 之外的节点不计入。
    .impact = 该交换机中的节点没有通往其他节点上 Pod 的路由
    .fix = 将该路由表添加到 CCM 配置的 `routeTableIDs`，用逗号分隔，不加空格。

ali-route-tables-several = VPC 有多个路由表
    .condition = CCM 写入路由（由其启动参数或 --cloud-routes 得知），节点所在的某个 VPC 有多个路由表，而已提供的云配置都没有设置 `routeTableIDs`。
    .impact = 没有 `routeTableIDs` 时 CCM 不写入路由（`multiple route tables found by vpc id`），节点一直处于 `network-unavailable` 状况
    .fix = 在 CCM 配置的 `routeTableIDs` 中列出需要写入的路由表，用逗号分隔，不加空格。

ali-routes-near-quota = Pod 网段的路由数接近路由表的默认配额
    .severity = 180 个 Node 起为警告，160 个起为提示
    .condition = CCM 写入路由，且需要路由的 Node 达到 160 个或更多：一个路由表默认最多 200 条自定义路由。路由表中的其他条目和已提升的配额不在已知范围内。
    .impact = 超出配额后 CCM 无法创建路由（`QuotaExceeded.RouteEntry`）：新的 Node 一直带有污点 `node.kubernetes.io/network-unavailable`，没有 Pod 能在其上启动
    .fix = 在配额中心提升路由条目配额，或使用不需要路由的 CNI 插件。

ali-routes-with-overlay = CCM 为网络插件已经连通的 Pod 写入路由
    .condition = 阿里云 CCM 写入路由，而集群的网络插件会封装 Pod 的流量：flannel 使用封装类 backend、Cilium 的隧道模式、Calico 默认地址池使用 IP-in-IP 或 VXLAN（`CALICO_IPV4POOL_IPIP` 或 `CALICO_IPV4POOL_VXLAN` 为 `Always`；不读取 IPPool），或 RKE2、K3s 配置所选的插件。
    .impact = 每个 Node 在其路由创建之前都有状况 `NetworkUnavailable`，并占用 VPC 路由表的一个条目。没有 `podCIDR` 或超出路由条目配额的 Node 会一直带有该污点
    .fix = 为 CCM 设置 `--configure-cloud-routes=false`，或只用路由连通 Pod（flannel 使用 backend `alloc`）。

ali-rrsa-ignored = 控制器不读取 RRSA 提供的角色
    .condition = 控制器通过 RRSA 得到了角色（ServiceAccount 的 `pod-identity.alibabacloud.com/role-name`、`ALIBABA_CLOUD_ROLE_ARN`）但不会读取：任何版本的 terway 和 external-dns、1.34.1 之前的 CSI 驱动、1.32.0 之前的 cluster-autoscaler，以及此后没有 `REGION_ID` 和会话名称（`ALIBABA_CLOUD_SESSION_NAME`，webhook 不会设置）的 cluster-autoscaler。使用自身变量（`ALICLOUD_ROLE_ARN`）或配置文件的 cluster-autoscaler 不检查。CCM 由 `ali-credentials-ignored` 检查。
    .impact = 它使用其他凭证或所在节点的 RAM 角色，得不到该角色的权限
    .fix = 设置它所需的变量、升级版本，或将权限授予节点的 RAM 角色。

ali-rrsa-refused = 控制器无法扮演其 ServiceAccount 的 RAM 角色
    .severity = 错误；仅受众不匹配时为警告：webhook 的参数可以改变受众
    .condition = 控制器通过 RRSA 使用 RAM 角色（ServiceAccount 的 `pod-identity.alibabacloud.com/role-name` 或 `ALIBABA_CLOUD_ROLE_ARN`），并且：角色不存在；或其信任策略不信任任何 OIDC 身份提供商；或不信任 CSI 驱动的 `ALIBABA_CLOUD_OIDC_PROVIDER_ARN` 所指定的身份提供商；或其 `oidc:sub` 与 `system:serviceaccount:NAMESPACE:NAME` 不匹配。适用于 1.34.1 起的 CSI 驱动和 1.32.0 起的 cluster-autoscaler（带有 `REGION_ID` 和会话名称）。如果角色由注解指定，而 `oidc:aud` 与 webhook 的默认受众 `sts.aliyuncs.com` 不匹配，则为警告。不判断颁发者。审计多个账号时，不带账号 ID 的角色不检查。
    .impact = `AssumeRoleWithOIDC` 被拒绝，控制器的所有调用都会失败
    .fix = 创建该角色，或在其信任策略中允许该 ServiceAccount。

ali-svc-annotation-unknown = CCM 不读取的注解
    .severity = 警告；与任何已知名称都不相似的名称为提示
    .condition = Service 带有注解 `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-…`（或更早的 `alicloud-loadbalancer-…`），但名称是 CCM 不认识的，或该版本不读取的：例如 2.10.0 之前的 `preserve-lb-on-delete`、2.12.4 之前的 `network-type`，以及从该版本起的 `slb-network-type`。
    .impact = 该注解不生效，并且没有任何提示
    .fix = 更正名称。

ali-svc-annotation-value = 注解的值被 CCM 或负载均衡服务拒绝
    .severity = CCM 无法解析该值时为错误；负载均衡服务拒绝该值时为警告
    .condition = 由 CCM 处理的 Service 的注解中：数字无效（`bandwidth`、超时、阈值、间隔）；`protocol-port` 的格式错误或协议未知；`address-type`、`charge-type`、`health-check-type`、`instance-charge-type`、`ip-version`、`scheduler`、`spec` 或开关的值不在文档所列范围内；`bandwidth` 是任何负载均衡都不支持的值；HTTPS 或 TCPSSL 监听没有 `cert-id`；`acl-status: on` 但没有 `acl-id`；或 `master-zoneid`、`slave-zoneid` 与所有 Node 不在同一地域。
    .impact = Service 同步出错，一直处于 Pending 或保持原有监听
    .fix = 更正该值：不带单位的整数、`https:443,http:80`、`internet` 或 `intranet`、`on` 或 `off`。

ali-svc-class-unserved = CCM 不处理该 class 的 Service
    .severity = class 与 CCM 的 class 相似或被该版本忽略时为警告；其他为提示
    .condition = 没有地址的 LoadBalancer 类型 Service 的 `loadBalancerClass` 不是 `alibabacloud.com/nlb`，或带有注解 `service.beta.kubernetes.io/class`；或 class 正确，但 CCM 早于 2.5.1 或 `--controllers` 中没有 `nlb`；或两者都没有，而 CCM 的 `--controllers` 中没有 `service`。
    .impact = CCM 将该 Service 留给其他控制器，如果没有其他控制器，它会一直处于 Pending；2.5.1 之前，无论 class 是什么都会创建 CLB
    .fix = 使用 CLB 时删除 class，或设置 `loadBalancerClass: alibabacloud.com/nlb`；Service 的 class 无法修改，需要重新创建。

ali-svc-internet-forbidden = Service 请求公网负载均衡，但云配置禁止
    .severity = 错误；Service 已有地址时为警告
    .condition = Service 使用 CLB，其 `…-loadbalancer-address-type` 不存在或为 `internet`，而云配置中 `disablePublicSLB` 为 true。
    .impact = CCM 写入事件 `create public address slb is not allowed`，不做任何操作：Service 一直处于 Pending，已有的负载均衡不再更新
    .fix = 设置 `service.beta.kubernetes.io/alibaba-cloud-loadbalancer-address-type: intranet`，或从云配置中删除 `disablePublicSLB`。

ali-svc-no-backend = 没有 Node 可以作为 Service 的后端
    .severity = 错误；没有云配置时为警告：其中的 `serviceBackendType` 可能以 Pod 为后端
    .condition = CCM 为 Service 维护负载均衡，但排除了所有 Node：带有标签 `node-role.kubernetes.io/master`（无论值是什么；不是 `…/control-plane`）、`node.kubernetes.io/exclude-from-external-load-balancers`、`alpha.service-controller.kubernetes.io/exclude-balancer` 或 `service.alibabacloud.com/exclude-node` 的 Node，cluster-autoscaler 即将删除的 Node（2.4.0 起），没有 `…-loadbalancer-backend-label` 所要求标签的 Node，未处于 Ready 状态的 Node，以及设置 `…-loadbalancer-remove-unscheduled-backend: on` 时不可调度的 Node。以下不检查：以 Pod 为后端（`eni`）的 Service、复用负载均衡但没有 `…-force-override-listeners` 的 Service，以及正在删除的 Service。
    .impact = 负载均衡没有后端，所有连接都会失败
    .fix = 添加工作节点，或在应当承载流量的 Node 上消除原因（标签、污点、cordon、kubelet 故障）。

ali-svc-no-node-port = Service 以 Node 为后端，但没有 NodePort
    .condition = CCM 为带有 `allocateLoadBalancerNodePorts: false` 且端口没有 `nodePort` 的 Service 维护负载均衡，并且后端是 Node。仅在提供了云配置时检查：其中的 `serviceBackendType` 决定后端是 Node 还是 Pod。以 Pod 为后端（`eni`）的 Service 和使用端口范围的 NLB 不检查。
    .impact = CCM 以端口 0 添加每个 Node，API 会拒绝：负载均衡没有后端
    .fix = 删除 `allocateLoadBalancerNodePorts: false`，或以 Pod 为后端（使用 Terway 时设置 `service.beta.kubernetes.io/backend-type: eni`）。

ali-svc-pods-without-interfaces = Pod 没有弹性网卡，无法作为 Service 的后端
    .condition = 由 CCM 处理的 Service 以 Pod 为后端（`service.beta.kubernetes.io/backend-type: eni`），而集群中 Pod 的地址由 flannel 或 Calico 分配。CCM 按每个 Pod 的地址查找弹性网卡；只有 Terway、虚拟节点和主机网络的 Pod 才有这样的地址。以下不检查：命名空间中有使用主机网络的工作负载的 Service，以及同时运行 Terway 或有虚拟节点的集群。不判断 `SERVICE_FORCE_BACKEND_ENI`：不保存它的值。
    .impact = CCM 跳过这些 Pod，并写入事件 `SkipSyncBackends`；没有其他后端的负载均衡会拒绝所有连接
    .fix = 删除该注解，以 Node 为后端，或使用 Terway。

ali-svc-security-group-unusable = Service 指定的安全组无法用于其负载均衡
    .condition = Service 的 NLB 由 CCM 创建，其注解 `…-loadbalancer-security-group-ids` 指定的安全组在节点所在地域中不存在、属于其他 VPC，或由阿里云服务托管；或指定的安全组超过四个，或同时指定了普通安全组和企业级安全组。CCM 为 `loadBalancerSourceRanges` 创建的安全组（2.14 起）是企业级安全组，计入在内。云配置设置了 `vpcid` 和 `vswitchid` 时不检查。
    .impact = API 拒绝该安全组，每次同步都报错 `update security group ids error`：Service 一直处于 Pending，或其监听和后端不再更新
    .fix = 最多指定四个节点所在 VPC 的安全组，且类型相同。

ali-svc-source-ranges-ignored = Service 的源地址范围不生效
    .condition = Service 的 `loadBalancerSourceRanges` 不是全部地址，而其负载均衡是 CLB，或是注解 `…-loadbalancer-id` 指定的 NLB，或 CCM 早于 v2.14.0。版本未知时不检查 NLB。
    .impact = 负载均衡接受所有客户端，并且没有任何提示
    .fix = 使用 CLB 时，用注解 `…-loadbalancer-acl-id`、`…-acl-status` 和 `…-acl-type` 限制监听；使用 NLB 时，升级 CCM，或指定带有拒绝规则的安全组。

ali-svc-sync-fails = CCM 处理 Service 时出错并停止
    .condition = 按照 [`tagaudit simulate`](simulate.md) 的模型，CCM 处理 `LoadBalancer` 类型的 Service 时会出错并停止。版本取自选项或镜像；版本未知时，从 2.5.1 起的每个版本都必须出错。取决于未读取内容的错误不报告；在任何账号中都会出现的错误由 `lint` 报告。
    .impact = 不会创建负载均衡，已有的负载均衡也不会随变更更新
    .fix = 更正错误所指出的内容；`tagaudit simulate` 显示此前的步骤。

ali-svc-vswitch-unusable = 无法在 Service 的交换机中创建负载均衡
    .severity = 错误；未读取支持 NLB 的可用区时，只有一个可用区为警告
    .condition = Service 的负载均衡所在交换机可由 [`tagaudit simulate`](simulate.md#alibaba-cloud) 得知（`…-loadbalancer-vswitch-id`、`…-loadbalancer-zone-maps` 或云配置的 `vswitchid`），而其中某个交换机不在节点所在地域、与节点不在同一 VPC、所在可用区与注解不同，或没有可用地址；或 NLB 的两个交换机在同一可用区；或 NLB 只有一个可用区，而该地域有多个可用区支持 NLB（如果未读取这些可用区，且交换机分布在多个可用区，则为警告）。已有的 NLB 会迁移到 `…-loadbalancer-zone-maps` 的交换机：只报告它无法使用的交换机（与负载均衡不在同一 VPC、可用区不同，或不存在）。
    .impact = API 拒绝创建（例如 `InvalidVSwitchId.NotFound` 或 `VSwitchAvailableIpNotExist`），Service 一直处于 Pending，或保持原有可用区；地域支持多个可用区时，只有一个可用区会被拒绝
    .fix = 指定节点所在 VPC 中有可用地址的交换机及其可用区。

ali-svc-zone-maps-missing = Service 请求 NLB，但没有指定可用区
    .condition = `loadBalancerClass: alibabacloud.com/nlb` 的 Service 既没有指定负载均衡（注解 `…-loadbalancer-id`），也没有指定可用区（`…-loadbalancer-zone-maps`），或 `zone-maps` 中某一项不是 ZONE:VSWITCH 的形式。忽略 class 的 2.5.1 之前的 CCM，以及 `--controllers` 中没有 `nlb` 的 CCM 不检查。
    .impact = CCM 不会创建负载均衡（`ParameterMissing, zone mappings are required`），Service 一直处于 Pending
    .fix = 添加带有两个可用区的注解：`cn-hangzhou-h:vsw-…,cn-hangzhou-i:vsw-…`。

ali-svc-zone-unavailable = 无法在 Service 指定的可用区创建负载均衡
    .condition = Service 将得到新的 CLB，而 `slb:DescribeAvailableResource` 对 `…-loadbalancer-master-zoneid` 和 `…-loadbalancer-slave-zoneid` 中的可用区没有列出其地址类型；或 Service 将得到新的 NLB，而 `…-loadbalancer-zone-maps` 中至少一个可用区不在 `nlb:DescribeZones` 中。已有的负载均衡可以保留已停售的可用区。
    .impact = API 拒绝创建，Service 一直处于 Pending
    .fix = 指定可以创建该负载均衡的可用区：`aliyun slb DescribeAvailableResource` 和 `aliyun nlb DescribeZones` 会列出它们。

ali-tags-near-quota = 实例的标签数已达上限
    .condition = 集群中没有 `ack.aliyun.com` 的实例已有 20 个标签，即上限；阿里云自身的标签（`acs:…`）不计入。
    .impact = 无法添加该标签
    .fix = 删除不用的标签。

ali-vpc-several-clusters = 多个集群的节点运行在同一 VPC
    .condition = 节点所在 VPC 中有实例带有 `ack.aliyun.com` 且值为其他集群的 ID；或没有该标签，但带有其他 ID 的 `kubernetes.io/cluster/`（Gardener 和 OpenShift 写入的标签）。
    .impact = 本身没有影响；使用云路由时，两个集群的控制器都会写入该 VPC 的路由表
    .fix = 如果是有意为之，无需处理：为各集群设置不重叠的 Pod 网段。

apiserver-cloud-provider-flag = server 节点向 kube-apiserver 传递 `--cloud-provider` 或 `--cloud-config`
    .severity = 警告；有 Node 运行的版本已移除该参数，或 --target-kubernetes 指定了这样的版本时为错误
    .condition = RKE2 或 K3s 的 server 节点、RKE2、K3s、Rancher、RKE 或 kubeadm 的配置，或静态 Pod 清单，在 `kube-apiserver-arg` 中设置了 `cloud-provider=…` 或 `cloud-config=…`。Kubernetes 1.33 从 kube-apiserver 中移除了这两个参数。
    .impact = 升级到 1.33 时在第一个 server 节点上失败：kube-apiserver 无法启动（`unknown flag: --cloud-provider`）
    .fix = 升级前从 `kube-apiserver-arg` 中删除。使用外部 CCM 时 kube-apiserver 不需要这两个参数：`--cloud-provider` 属于 kubelet，`--cloud-config` 属于 CCM。

ccm-absent = 节点等待的 CCM 并未运行
    .condition = kubelet 以 `cloud-provider=external` 启动，或 Node 带有污点 `node.cloudprovider.kubernetes.io/uninitialized`，但工作负载中没有 CCM。需要所有命名空间的 DaemonSet 和 Deployment，且发行版不运行自带的控制器。
    .impact = 新节点的污点无法移除：普通 Pod 不会调度到这些节点，Service 也得不到负载均衡
    .fix = 安装对应云平台的 CCM，配置其容忍度，并使用主机网络。

ccm-cloud-config-not-mounted = CCM 读取的云配置文件未挂载到容器中
    .condition = CCM 启动时带有 `--cloud-config`，其容器挂载了卷，但没有任何卷挂载在该路径或其上级目录。Chart、相对路径、脚本以及没有任何挂载的容器不检查。
    .impact = CCM 无法启动：文件不存在
    .fix = 将包含该文件的卷挂载到 `--cloud-config` 所指定的目录。

ccm-dns-policy = CCM 依赖集群 DNS
    .condition = CCM 使用主机网络，且 `dnsPolicy: ClusterFirstWithHostNet`。
    .impact = 在新集群中，DNS 只能运行在已初始化的节点上，而节点在等待 CCM，因此 CCM 无法解析云平台的地址
    .fix = 设置 `dnsPolicy: Default`。

ccm-no-leader-election = 多个 CCM 同时工作
    .condition = CCM 以 `--leader-elect=false` 启动，且部署为 DaemonSet，或副本数大于 1 的 Deployment。
    .impact = 每个 Pod 都会创建和修改同一批负载均衡：Service 会得到两个负载均衡，各 Pod 的修改相互覆盖
    .fix = 删除 `--leader-elect=false`，或只运行一个 Pod。

ccm-rbac-subject-mismatch = CCM 的权限绑定到了其他 ServiceAccount
    .condition = 没有任何 ClusterRoleBinding 引用 CCM 的 ServiceAccount；而按角色名或 ServiceAccount 名判断属于 CCM 的绑定，引用了其他 ServiceAccount，或没有写命名空间。被其他工作负载使用的 ServiceAccount 不计入。
    .impact = CCM 没有权限（`leases.coordination.k8s.io is forbidden`），永远不会成为 leader
    .fix = 在绑定和 Pod（`serviceAccountName`）中使用相同的 ServiceAccount 和命名空间。

ccm-selector-matches-no-node = 没有节点符合 CCM 的选择器
    .condition = 没有 Node 带有 CCM 的 `nodeSelector` 和必须满足的节点亲和性（required）所要求的标签。没有提供 Node 时，检查 Rancher 集群或 `cluster.yml` 定义的机器。
    .impact = 不会创建任何 CCM Pod，也没有任何报错：新节点的污点无法移除，Service 得不到负载均衡
    .fix = 选择该发行版控制平面节点带有的标签：`node-role.kubernetes.io/control-plane` 在 kubeadm 和 kOps 中为 `""`，在 RKE2 和 K3s 中为 `"true"`；RKE 使用 `controlplane`。使用 `Exists` 的节点亲和性适用于所有发行版。

ccm-toleration-missing = CCM 不容忍其节点的污点
    .severity = 错误；部分节点可以运行 CCM 时为警告
    .condition = CCM 不容忍新节点在初始化之前带有的 `node.cloudprovider.kubernetes.io/uninitialized`，或不容忍所选节点的某个污点。资源压力等临时污点不计入。
    .impact = CCM 的 Pod 不会运行在这些节点上：新节点无法初始化，Service 得不到负载均衡
    .fix = 使用 `operator: Exists` 的容忍度：控制平面污点在 kubeadm、kOps 和 Rancher 中没有值，在 RKE 中值为 `true`。Rancher 中带有 etcd 角色的机器还有 `node-role.kubernetes.io/etcd:NoExecute`。

cloud-provider-unknown = 组件设置了 Kubernetes 不支持的 cloud provider
    .condition = Node 或配置中 kubelet、kube-apiserver 或 kube-controller-manager 的 `cloud-provider` 既不是 `external`，也不是 Kubernetes 曾经内置的：aws、azure、cloudstack、gce、openstack、ovirt、photon、vsphere。kubelet 中拼写错误的 `external` 由 `kubelet-cloud-provider-missing` 报告。
    .impact = 组件无法启动：`unknown cloud provider`
    .fix = kubelet 和 kube-controller-manager 设置 `cloud-provider=external`，kube-apiserver 不设置。

component-argument-misspelt = 组件不支持所设置的参数
    .condition = `kubelet-arg`、`kube-apiserver-arg` 或 `kube-controller-manager-arg`，或 RKE、kubeadm 的额外参数中，某个与 cloud provider 有关的参数不是该组件的参数：例如 RKE2 的设置 `cloud-provider-name`、用空格代替了连字符，或拼写错误。或 `KubeletConfiguration` 中有只能作为启动参数的设置，例如 `cloudProvider`。
    .impact = 组件无法启动：`unknown flag`
    .fix = 使用该组件的参数写法：kubelet 为 `cloud-provider=external`。

controller-lease-stale = CCM 没有任何 Pod 是 leader
    .condition = kube-system 中 CCM 的 Lease（`--leader-elect-resource-name`；默认为 `cloud-controller-manager`，阿里云 CCM 为 `ccm`）的最近续约时间，比 kube-system 中最新续约的 Lease 早五分钟以上。
    .impact = CCM 不再工作：新 Node 的污点 `node.cloudprovider.kubernetes.io/uninitialized` 无法移除，新的 LoadBalancer Service 一直处于 Pending
    .fix = 检查 CCM Pod 的状态和日志：是否已启动、能否访问 API Server、是否有权更新 Lease。

controller-manifest-obsolete = YAML 清单使用了已移除的 API 版本
    .condition = CCM 的 DaemonSet 或 Deployment 使用 `extensions/v1beta1`、`apps/v1beta1` 或 `apps/v1beta2`（Kubernetes 1.15 是最后支持的版本），或与其绑定的角色使用 `rbac.authorization.k8s.io/v1beta1`（最后支持的版本为 1.21）。
    .impact = API Server 拒绝该清单：`no matches for kind`
    .fix = 使用带有 `selector` 的 `apps/v1`，以及 `rbac.authorization.k8s.io/v1`。

controller-not-running = 某个控制器没有 Pod 在运行
    .condition = 某个控制器（CCM、AWS Load Balancer Controller、EBS 或 EFS CSI 驱动、cluster autoscaler、Karpenter、external-dns、VPC CNI）的 Deployment 或 DaemonSet 需要 Pod，但没有 Pod 就绪，并且 Pod 或事件给出了原因：无法拉取镜像、容器反复失败或无法创建、没有节点可调度、无法挂载卷、无法配置网络，或无法创建 Pod。事件只在最近 20 分钟内重复出现过时才参考：针对创建超过五分钟且没有容器启动过的 Pod，或针对没有 Pod 的工作负载。
    .impact = 该控制器的工作无人执行：负载均衡、存储卷、节点或 Pod 地址不会被创建、更新或删除；没有 CCM 时，新 Node 的污点 `uninitialized` 无法移除
    .fix = 排除 Pod 所给出的原因。

ecr-credential-flag-alone = kubelet 的两个镜像凭证参数只设置了一个
    .condition = kubelet 设置了 `image-credential-provider-config` 而没有设置 `image-credential-provider-bin-dir`，或反之。
    .impact = kubelet 无法启动
    .fix = 两个都设置，或都不设置。

embedded-ccm-still-on = 发行版自带的 CCM 与另一个 CCM 同时运行
    .severity = 错误；RKE2 仍会关闭自带的 CCM 时为警告，除非 --target-kubernetes 指定的版本不再如此
    .condition = RKE2 或 K3s 的 server 节点要求使用其他 CCM（RKE2 的 `cloud-provider-name`，或 `kubelet-arg` 中的 `cloud-provider=external`），或同一集群中运行或声明了其他 CCM，而 server 节点没有设置 `disable-cloud-controller: true`。在 1.35 及更早版本中，RKE2 只要设置了该名称就会关闭自带的 CCM；对于 `rancher-vsphere` 和 `harvester` 至今如此。
    .impact = 自带的 CCM 为新 Node 设置 `rke2://` 或 `k3s://` 形式的 providerID，该字段无法修改：只能替换该 Node
    .fix = 在所有 server 节点（包括只运行 etcd 的节点）的配置中设置 `disable-cloud-controller: true`。

embedded-manifest-malformed = 配置中内嵌的 YAML 无法解析
    .condition = Rancher 集群的 `additionalManifest`、RKE 的 `addons` 或 ConfigMap 的某个键不是 YAML，或包含无效对象。HelmChart 的 `valuesContent` 是映射而不是字符串。
    .impact = 该文本中的任何内容都不会被应用，或 Chart 安装时未使用这些 values
    .fix = 在所报告的位置更正文本。缩进不能使用制表符，文本块以 `|` 开头。

feature-gate-removed = 组件设置了已移除的特性门控
    .severity = 警告；有 Node 运行的版本已移除该门控，或 --target-kubernetes 指定了这样的版本时为错误
    .condition = RKE2 或 K3s 的节点，或 RKE2、K3s、Rancher、RKE、kubeadm、kOps 或 kubelet 的配置（`featureGates`），在 `kubelet-arg`、`kube-apiserver-arg` 或 `kube-controller-manager-arg` 的 `feature-gates` 中设置了后续版本不再支持的 cloud provider 迁移门控。`CSIMigration`、`CSIMigrationAWS` 和 `ControllerManagerLeaderMigration` 存在到 1.26；前两个从 1.25 起不能关闭。`KubeletCredentialProviders` 存在到 1.28，`InTreePluginAWSUnregister` 存在到 1.30，`DisableCloudProviders` 和 `DisableKubeletCloudCredentialProviders` 存在到 1.32。
    .impact = 升级后组件无法启动：`unrecognized feature gate`
    .fix = 待所有 Node 的版本都不再需要该门控后、升级到不支持它的版本之前，从配置中删除。

gateway-not-judged = 不检查 Gateway API 的对象
    .condition = 提供了 Gateway API（`gateway.networking.k8s.io`）的 Gateway、ListenerSet 或路由。不模拟其控制器的行为，也不核对其负载均衡。
    .impact = 这些对象的负载均衡未被审计
    .fix = 无需处理：请查看 Gateway 的状态及其控制器的日志。

kcm-controllers-unknown = kube-controller-manager 引用了已不存在的控制器
    .severity = 警告；有 Node 运行的版本没有这些控制器，或 --target-kubernetes 指定了这样的版本时为错误
    .condition = kube-controller-manager 的 `controllers` 中有 `service`、`route` 或 `cloud-node-lifecycle`，使用新旧名称之一，带或不带前导连字符。Kubernetes 1.37 不支持这些名称。
    .impact = 从 1.37 起 kube-controller-manager 无法启动：`"service" is not in the list of known controllers`
    .fix = 升级前从 `controllers` 中删除这些名称：使用外部 cloud provider 时它们会自动停用。

key-repeated = 对象中有重复的键
    .severity = 警告；两个值相同时为提示
    .condition = YAML 或 JSON 文档的同一个对象中，某个键出现两次。其他规则按最后一个值判断。
    .impact = `kubectl apply` 和大多数程序使用最后一个值，丢弃另一个且没有提示；Kustomize 拒绝该文件
    .fix = 只保留一个，或将两者的值合并到一个键下。

kubeadm-extra-args-shape = kubeadm 无法解析这种形式的额外参数
    .condition = kubeadm `v1beta4` 中的额外参数写成了映射，或更早版本中写成了列表。
    .impact = kubeadm 失败：`cannot unmarshal`
    .fix = `v1beta4` 中写成由 `name` 和 `value` 组成的列表，更早版本中写成映射。

kubeadm-version-refused = kubeadm 不支持该版本的配置
    .condition = kubeadm 配置使用 `v1beta2` 或更早版本（kubeadm 从 1.27 起不支持），或 `v1beta1` 或更早版本（最后支持的版本为 1.21），或其 kind 已被移除。如果文件指定了 Kubernetes 版本，则按该版本判断。
    .impact = kubeadm 在执行任何操作之前失败
    .fix = 用 `kubeadm config migrate` 转换。

kubelet-cloud-config-flag = 节点向 kubelet 传递 `--cloud-config`
    .severity = 警告；有 Node 运行的版本已移除该参数，或 --target-kubernetes 指定了这样的版本时为错误
    .condition = RKE2 或 K3s 的节点，或 RKE2、K3s、Rancher、RKE 或 kubeadm 的配置，在 `kubelet-arg` 中设置了 `cloud-config=…`。使用外部 CCM 时 kubelet 不读取该文件，Kubernetes 1.34 移除了该参数。
    .impact = 升级到 1.34 时在第一个节点上失败：kubelet 无法启动（`unknown flag: --cloud-config`）
    .fix = 从 `kubelet-arg` 中删除；该文件属于 CCM。

kubelet-cloud-provider-missing = kubelet 不等待 CCM
    .severity = 错误；kubeadm 配置为警告：kubelet 的 systemd 单元中可能已设置
    .condition = 集群中存在 CCM，或同一文件中声明了 CCM，或一并给出的文件中只声明了一个 CCM，或这些配置中另有 kubelet 使用外部 cloud provider；但某个配置，或记录了启动参数的 Node，没有为 kubelet 设置 `cloud-provider=external`，或拼写错误：既没有直接设置，也没有通过 RKE2 的 `cloud-provider-name: external` 或 K3s、RKE2 自带的 CCM 设置。
    .impact = 这样的节点注册时没有未初始化污点，永远得不到 providerID：负载均衡会跳过它，也无法挂载云盘。已有节点的 providerID 不变，因此问题不易察觉
    .fix = 为所有节点设置 `kubelet-arg: cloud-provider=external`。

leader-migration-kcm-external = kube-controller-manager 占有 CCM 所等待的锁
    .condition = kube-controller-manager 以 `cloud-provider=external` 和 `enable-leader-migration` 启动。
    .impact = 它占有迁移锁却不执行相应工作：CCM 永远无法接管
    .fix = 在将 kube-controller-manager 改为 external 的同一步中，删除 `enable-leader-migration`。

node-addresses-empty = 在 CCM 设置之前，Node 没有地址
    .condition = Kubernetes 1.29 或更高版本的 Node 带有污点 `node.cloudprovider.kubernetes.io/uninitialized`，没有 `InternalIP`，且 kubelet 没有 `--node-ip`。
    .impact = 在此之前使用主机网络的 Pod 没有地址；如果 CCM 或网络插件启动时需要地址，两者会相互等待
    .fix = 启动 kubelet 时设置 `--node-ip=ADDRESS`，或设置 `--node-ip=0.0.0.0`，由 kubelet 自行检测地址。

node-excluded-worker = worker 节点被排除在负载均衡之外
    .condition = 不运行控制平面的 Node 带有标签 `node.kubernetes.io/exclude-from-external-load-balancers`。kubeadm 和 kOps 为控制平面设置该标签。值为 `false` 时的效果由 `node-exclude-label-false` 报告。
    .impact = 负载均衡不向该节点转发流量；其 Pod 只能经由其他 Node 访问，`externalTrafficPolicy: Local` 时则无法访问
    .fix = 如非有意设置，删除该标签。

node-name-constant = 所有机器的节点名相同
    .condition = Rancher 集群为某个角色的机器设置了固定的 `node-name`，或为其 kubelet 设置了固定的 `hostname-override`。
    .impact = 第二台同名机器无法加入，或接管第一台的 Node；CCM 按该名称最多找到一个实例
    .fix = 删除该设置，使每台机器使用各自的名称；在 RKE2 中，`node-name-from-cloud-provider-metadata: true` 使用实例的名称。

node-uninitialized-stuck = Node 仍在等待 CCM
    .condition = Node 创建超过五分钟后仍带有污点 `node.cloudprovider.kubernetes.io/uninitialized`。当前时间由 Lease 和最新的对象推断。
    .impact = 普通 Pod 不会调度到该节点，负载均衡也不会添加该节点：CCM 的日志中有 `failed to get instance metadata` 或 `instance not found`，或 CCM 没有运行
    .fix = 查看 CCM 的日志。其他问题可能给出原因：没有 CCM、CCM 不在任何节点上运行、没有与节点名对应的实例，或缺少标签或权限。

object-field-type = 对象字段的类型错误，API Server 会拒绝
    .condition = Service、Ingress 或 IngressClass 中与负载均衡有关的某个字段，其类型与 API 定义不同：加引号的数字、应为列表的字符串、写成列表的注解。每个对象只报告第一个这样的字段。
    .impact = `kubectl apply` 失败，报错 `cannot unmarshal … into Go struct field …`，对象不会被创建或修改
    .fix = 按 API 定义的类型书写该值。

provider-id-constant = 一份配置给多个节点设置了同一身份
    .severity = 警告；不对应任何实例时为错误
    .condition = 配置为 kubelet 设置了固定的 `provider-id`：形式为 `aws:///ZONE/i-…` 或 `REGION.INSTANCE`（阿里云），或任何 CCM 都不支持的形式。变量和模板不检查。RKE2、K3s 或 kubelet 的配置可能只用于一个节点，因此其中只有形式错误才报告为错误。
    .impact = providerID 无法修改：除一个节点外，其余节点都对应错误的实例，必须重建
    .fix = 在每个节点上根据实例元数据设置；如果 CCM 按 Node 名称查找实例，则删除该设置。

ram-action-denied = CCM 的操作被显式拒绝
    .severity = 该调用在 ram-action-missing 中为错误时为错误，否则与该规则相同
    .condition = Deny 语句、会话策略或管控策略去除了 CCM 所需的操作，无论其他策略是否允许。
    .impact = 添加 Allow 不起作用
    .fix = 删除该 Deny，或将 CCM 的身份排除在外。

ram-action-excess = 集群的身份拥有多于所需的权限
    .severity = 提示；工作节点角色上的写操作超出 ACK 曾经发布的默认策略时为警告
    .condition = 身份的策略授予了任何版本的控制器都不调用，也没有为控制器、CSI 驱动、terway 或 cluster-autoscaler 发布的操作。
    .impact = 节点上能访问元数据服务的每个 Pod 都拥有这些权限
    .fix = 删除这些节点上没有组件使用的权限；JSON 报告中的 `tightened_policy` 是仍能满足基线的最小策略。

ram-action-missing = CCM 缺少所需的操作权限
    .severity = 确定会运行的控制器始终进行该调用，且 v2.1 已有该调用或已给出版本时为错误：node、service、启用云路由时的 route，以及存在相应 class 的 Service 时的 nlb；取决于版本或可能不运行的控制器时为警告；仅某项功能需要时为提示
    .condition = CCM 身份的策略对任何资源都没有授予它所需的某个操作。所需操作为 --controller-version 指定版本（否则为最新版本）在所给参数（`--controllers`、`--configure-cloud-routes`）启用的控制器中的调用；使用 --baseline 时为该基线中的操作。如果没有指定身份，则假定为控制面节点的角色，除非有证据表明 CCM 使用单独的 AccessKey。
    .impact = 调用被拒绝（`Forbidden.RAM`、`NoPermission`）
    .fix = 将缺少的操作写入单独的自定义策略并授权给该角色。RAM 用户的策略，以及只是推测节点所用的角色的策略，需要手动修改：工作节点不应得到 CCM 的权限。

ram-action-partial = 仅部分授予了 CCM 所需的操作
    .severity = 警告；仅某项功能需要时为提示
    .condition = CCM 身份的策略授予了它所需的某个操作，但仅限部分资源、附带条件，或限于一个资源组。如果该操作在阿里云中没有资源，则限定 `*` 以外资源的语句不起作用。
    .impact = 在其他资源上的调用被拒绝
    .fix = 对 `*` 授权，或确认限定范围覆盖集群使用的全部资源。

ram-controller-principal-assumed = CCM 的身份未知
    .condition = 没有用 --controller-role 指定身份，而控制面节点有 RAM 角色，或操作审计中有某个身份（`--audit-trail`）。只有在 ACK 挂载的文件、云配置和环境变量中都没有凭证时，CCM 才使用该角色；操作审计中的调用按 User-Agent 判断属于 CCM。
    .impact = 有关 CCM 权限的结论针对该角色；如果 CCM 使用其他凭证，这些结论不成立
    .fix = 指定 CCM 的身份：--controller-role acs:ram::ACCOUNT:role/NAME；使用 AccessKey 时为 …:user/NAME。

ram-controller-principal-differs = 操作审计中 CCM 使用另一个身份
    .condition = `--audit-trail` 读取的操作审计中，带有该集群 ID 的 CCM 调用来自 `--controller-role` 没有指定的身份，或来自阿里云账号本身。
    .impact = 比对的是 CCM 并未使用的身份的策略；账号本身的调用不受任何策略限制，能读取其 AccessKey 的人也是如此
    .fix = 用 --controller-role 指定操作审计中的身份，或去掉该选项。将阿里云账号的 AccessKey 替换为 RAM 用户的 AccessKey 或实例 RAM 角色。

ram-controller-rights-on-worker = 工作节点的角色授予了只有 CCM 才调用的操作
    .condition = 不运行控制面的节点的 RAM 角色允许删除负载均衡或路由；该角色可能是单独的角色，也可能与 CCM 的角色相同。
    .impact = 工作节点上能访问元数据服务的每个 Pod 都能删除集群的负载均衡和路由
    .fix = 为工作节点使用单独的角色，或为 CCM 使用其他凭证。

ram-node-rights-missing = 节点的角色缺少某个控制器所需的操作
    .condition = 控制器除所在节点的 RAM 角色外没有其他凭证，而它可能运行的节点的 RAM 角色没有授予该版本日常工作所需的某个操作：cluster-autoscaler、`--alibaba-cloud-config-file` 为空的 external-dns、云盘 CSI 驱动，以及 `ENIMultiIP` 模式下只有一份 `eni_conf`、且其中既没有 AccessKey 也没有 `ipam_type` 的 terway。对 DaemonSet，有一个这样的角色即报告；对 Deployment，所有角色都缺少该操作才报告。凭证可能在 Secret、ACK 的文件或自身配置中的控制器不检查。附带条件或限于部分资源的授权不检查。
    .impact = 控制器的调用被拒绝（`Forbidden.RAM`、`NoPermission`）：云盘、节点、地址或解析记录无法创建、修改或删除
    .fix = 将这些操作写入单独的自定义策略并授权给该角色，或为控制器提供专用凭证。

ram-policy-near-quota = 策略或身份接近配额上限
    .condition = 身份的某个自定义策略超过上限 6,144 个字符的十分之九，或最多十个自定义策略中已授权九个或更多；配额可以提升。
    .impact = 下一个版本的 CCM 所需的操作无法再添加
    .fix = 将操作合并为通配模式（`tagaudit policy shrink --dialect ram`），或合并多个策略。

ram-privilege-escalation = 集群的身份存在权限提升路径
    .severity = 工作节点的角色可以获得权限或执行代码时为错误；只能读取数据时，以及对 CCM 的身份，为警告
    .condition = 其策略授予了某条已知路径所需的全部操作，可借此获得更多权限、在其他机器上执行代码或获取机密信息；其中至少一个操作不是为这些节点发布的任何策略所需要的。
    .impact = 能访问元数据服务的每个 Pod 都可以利用该路径
    .fix = 删除节点不需要的操作；要求元数据服务使用令牌。

ram-role-trust-not-ecs = 节点的 RAM 角色不信任 ECS
    .condition = 节点的 RAM 角色的信任策略不允许服务 `ecs.aliyuncs.com` 扮演它。如果取决于条件，则未审计。
    .impact = 元数据服务不向节点上的任何程序提供凭证
    .fix = 在信任策略中允许 `ecs.aliyuncs.com` 扮演该角色。

ram-rrsa-action-missing = ServiceAccount 的 RAM 角色缺少其控制器所需的操作
    .condition = 控制器通过 RRSA 扮演 RAM 角色，而该角色的策略对任何资源都没有授予该版本日常工作所需的某个操作：1.34.1 起的云盘 CSI 驱动，以及 1.32.0 起带有 `REGION_ID` 和会话名称的 cluster-autoscaler。附带条件或限于部分资源的授权不检查。
    .impact = 控制器的调用被拒绝（`Forbidden.RAM`、`NoPermission`）：云盘或节点无法创建、修改或删除
    .fix = 授权该项目为此版本发布的策略。

ram-rrsa-escalation = 控制器的 ServiceAccount 的 RAM 角色存在权限提升路径
    .condition = 控制器通过 RRSA 扮演 RAM 角色，而该角色授予了某条已知路径所需的全部操作，可借此获得更多权限或在其他机器上执行代码；其中至少一个操作不在各控制器项目发布的任何策略中。
    .impact = 控制器的 Pod 被攻陷后可以利用该路径
    .fix = 只授权该项目发布的策略。

ram-rrsa-excess = 控制器的 ServiceAccount 的 RAM 角色拥有多于所需的权限
    .condition = 控制器通过 RRSA 扮演 RAM 角色，而该角色授予了此版本不调用、且不在各控制器项目发布的任何策略中的操作。权限提升路径由 `ram-rrsa-escalation` 报告。
    .impact = 攻陷控制器的 Pod 的人也会得到这些权限
    .fix = 只授权该项目发布的策略。

ram-rrsa-trust-wide = 所有 ServiceAccount 都可以扮演控制器的 RAM 角色
    .condition = 控制器通过 RRSA 扮演 RAM 角色，而该角色的信任策略允许某个 OIDC 身份提供商的所有 ServiceAccount：没有 `oidc:sub` 条件，或其条件匹配任意命名空间和名称。
    .impact = 集群的每个 Pod 都能取得控制器的权限
    .fix = 在信任策略中将 `oidc:sub` 限定为 `system:serviceaccount:NAMESPACE:NAME`。

rke-key-unknown = RKE 的配置中没有这个键
    .severity = 错误；节点的键为警告
    .condition = `cluster.yml` 中 `cloud_provider` 下的键或 `nodes` 各项的键不是 RKE 的键，或服务的某个键与 `extra_args` 等键相近但拼写错误：RKE 在这些位置接受任何键。RKE 文档中的 `use_instance_metadata_hostname` 并不是有效的键，正确的键是 `useInstanceMetadataHostname`。在 Terraform 中则使用前一种写法。
    .impact = 该设置不生效，也没有任何报错
    .fix = 使用 RKE 的写法。

rke2-cloud-options-conflict = 使用这些选项时 RKE2 无法启动
    .condition = 设置了 `cloud-provider-config` 而没有设置 `cloud-provider-name`，或同时设置了 `node-external-ip` 和其中之一。
    .impact = RKE2 无法启动：`--cloud-provider-config requires --cloud-provider-name` 或 `can't set node-external-ip while using cloud provider`
    .fix = 指定 provider，或删除另一个选项。指定了 provider 时，Rancher 不会设置 `node-external-ip`。

svc-annotation-not-string = 注解的值未加引号，是布尔值或数字
    .condition = Service 的注解值未加引号，YAML 将其解析为布尔值或数字：`true`、`yes`、`on`、`443`。注解必须是字符串。
    .impact = API Server 拒绝该 Service：`cannot unmarshal … into Go struct field ObjectMeta.metadata.annotations of type string`
    .fix = 为该值加上引号。

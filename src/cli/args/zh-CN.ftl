# Help of the most used commands in Chinese: `command-NAME`, `option-NAME`, and `option-COMMAND-NAME` where a command has a text of
# its own. Tests compare them with the commands.
# 常用命令的中文帮助；由测试与命令核对。

about = 审计自建 Kubernetes 集群所需的阿里云或 AWS 资源：集群标签、安全组、交换机（子网），以及节点的 RAM 或 IAM 策略

command-scan = 审计一个集群并报告问题
command-apply = 执行 'scan --fix --plan-out' 保存的计划
command-undo = 撤销已完成或中断的修复
command-clusters = 列出账号和地域中的集群 ID，按资源类型和标签值统计
command-roles = 显示集群中每个控制器的角色、其来源、缺少的操作，以及还有谁可以使用该角色
command-simulate = 显示控制器如何处理 Service 和 Ingress：交换机（子网）、安全组、规则、后端，或错误
command-guard = 显示 Terraform 计划、CloudFormation 变更集或 Kubernetes 发布会破坏什么：在账号的副本上试运行，并在前后审计所有集群
command-why = 显示 Service、Ingress、Node 或 Pod 为何未就绪，或解释日志、事件和报错
command-record = 生成离线快照，在其他环境中审计
command-lint = 检查 YAML 清单和集群配置，不需要账号或集群
command-migrate = 显示集群从内置 AWS provider 迁移到外部 provider 的阶段，以及下一个安全步骤
command-policy = 对文件运行策略引擎，不需要账号
command-report = 以任意格式显示已保存的报告
command-merge = 合并各分片的报告
command-config = 检查配置，或输出其 schema
command-rules = 列出规则
command-explain = 解释一条规则（条件、影响、修复、依据）或一行日志，或显示节点的启动参数
command-example = 输出 CCM 的最小正确配置：集群配置、Chart values 或 YAML 清单、策略、标签
command-baseline = 列出或输出内置的基线策略
command-permissions = 输出扫描或修复所需的最小权限策略
command-completions = 输出 shell 补全脚本
command-man = 输出手册，或为每个命令生成一页

heading-commands = 命令
heading-options = 选项
heading-examples = 示例：
heading-source = 来源
heading-scope = 范围
heading-audit = 审计
heading-output = 输出
heading-fix = 修复

option-help = 显示帮助（'--help' 显示更多）
option-version = 显示版本
option-cluster-id = 集群 ID：标签 'kubernetes.io/cluster/' 之后的部分，在阿里云为 'ack.aliyun.com' 的值（'tagaudit clusters' 列出所有 ID）
option-inventory = 读取离线快照，或 AWS CLI、'aliyun' 输出的目录，而不是在线账号
option-provider = 云平台 [默认：aws，或快照所属的云]
option-profile = AWS CLI 或 'aliyun' 的配置名；优先于环境变量中的凭证
option-region = 地域；可重复。使用 CLI 输出的目录时，为导出时所用的地域
option-all-clusters = 审计找到的每个集群
option-kubernetes = 集群状态和配置，YAML 或 JSON：文件、目录，或 '-' 表示标准输入；可重复
option-kube-context = 通过 kubeconfig 的这个 context 读取集群；在 Pod 中使用 'in-cluster'
option-config = 从该文件读取扫描选项、级别和豁免 [默认：tagaudit.toml（如果存在）]
option-rule = 只运行这些规则；可重复，可使用 '*' 和 '?'
option-skip-rule = 跳过这些规则；可重复，可使用 '*' 和 '?'
option-fail-on = 存在不低于该级别的问题时，以退出码 1 结束
option-format = 输出格式 [默认：由文件名决定，否则为表格]；可重复
option-output = 写入该文件而不是标准输出；可重复
option-fix = 修复问题：在可以证明安全时添加缺少的内容。先显示计划
option-dry-run = 只显示计划，不执行

option-endpoint-url = 将所有请求发送到该地址
option-insecure-endpoint = 允许既不是 HTTPS 也不在本机的地址
option-requests-per-second = EC2，或 ECS 和 VPC 每个 API 每秒的请求数；默认值为账号默认限额的四分之一
option-timeout = 超过该秒数仍未读取的内容将被放弃
option-audit-trail = 同时读取操作审计，以确定 CCM 使用的身份和版本（仅阿里云）：每个地域最多 12 个请求，每秒 2 个
option-iam-reads = 读取角色的方式：'auto' 选择请求较少的一种
option-assume-role = 扮演该角色并在其账号中工作；只读命令可重复使用该选项
option-external-id = 扮演角色时的 External ID
option-all-regions = 读取账号已启用的所有地域
option-quiet = 不在标准错误输出进度和警告
option-verbose = 完整显示长列表，并在标准错误输出每个请求
option-color = 是否使用颜色；遵循 'NO_COLOR' 和 'FORCE_COLOR'

option-lint-paths = YAML 清单、kubectl 的输出、RKE2、K3s、RKE、Rancher 和 kubeadm 的配置、CCM 的 Chart values（YAML 或 JSON）及其云配置：文件、目录，或 '-' 表示标准输入
option-exclude = 跳过目录中路径匹配的文件，写法与 '.gitignore' 相同（'.gitignore' 本身也会生效）；可重复
option-changed-since = 只报告 Git 工作区自该提交或分支以来改动的文件中的问题
option-kubernetes-version = 文件未注明时的 Kubernetes 版本，例如 1.33
option-target-kubernetes = 将要升级到的 Kubernetes 版本：在此之前移除的内容报告为错误
option-target-controller = 将要升级到的 CCM 版本，或其他控制器的版本，例如 'lbc=2.14'；可重复
option-no-config = 不读取配置文件
option-allow-empty = 没有可检查的内容时以退出码 0 而不是 4 结束，并跳过其他工具的文件：用于会列出所有改动文件的 hook

option-explain-rule = 规则 ID，或一行日志（与 'tagaudit why' 相同）
option-effective = 显示某个 Node 的实际启动参数，或名称包含该文本的配置中各节点的参数：合并 drop-in、选择器和列表，并注明每项设置的位置
option-explain-kubernetes = Node 和配置，与 'scan --kubernetes' 相同；可重复
option-lang = 语言；JSON 始终为英文
option-explain-format = 输出格式
option-rules-provider = 只列出该云平台的规则
option-severity = 只列出该级别的规则
option-resource = 只列出与该类资源有关的规则，例如 'subnet'
option-family = 只列出该类别的规则，例如 'security-groups'
option-search = 只列出 ID、标题、条件或影响包含该文本的规则
option-rules-format = 输出格式

exit-codes = 退出码：
exit-0 = 完成，没有不低于 --fail-on 的未处理问题
exit-1 = 存在不低于 --fail-on 的未处理问题
exit-2 = 用法错误：参数、环境，或无法读取、无效的输入文件或计划
exit-3 = 没有这样的问题，但有内容无法审计
exit-4 = 什么都无法审计：没有凭证、账号错误、地址不可达，或没有找到集群（使用 --allow-empty 时为 0）
exit-5 = 修复被拒绝、已过期，或没有全部执行或验证
exit-130 = 被中断
exit-143 = 被终止

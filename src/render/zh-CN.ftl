# Words of reports in Chinese. The ids are the English texts: their words, joined by dashes.
# 报告用语的中文翻译；消息 ID 由英文原文的单词组成，由测试核对。

# 抬头
cluster = 集群
cluster-id = 集群 { $id }
account = 账号
account-partition-in-regions = { $account }{ $partition }，地域 { $regions }
caller = 调用者
evidence = 数据来源
config = 配置
configuration = 配置
nodes = 节点
guessed-from-names = （? 表示根据名称推测）
none-found = 未找到
leftover = 遗留资源
rules = 规则
result = 结果
changes = 变化
next = 下一步
number-of-them-need-kubernetes = （其中 { $number } 条需要 --kubernetes）
in-number-findings = ，共 { $number } 个问题

# 结论
count-error = { $number } 个错误
count-warning = { $number } 个警告
count-note = { $number } 个提示
nothing-found = 未发现问题
nothing-found-in-what-could-be-read = 在能够读取的范围内未发现问题
nothing-to-audit-no-cluster-was-found = 没有可审计的内容：未找到集群
nothing-to-audit-no-cluster-was-found-check-the-account-the-region-and-the-cluster-id = 没有可审计的内容：未找到集群。请检查账号、地域和集群 ID。
number-waived = { $number } 个已豁免
number-not-audited = { $number } 项未审计

# 级别、修复方式和规则的结果
error = 错误
warning = 警告
info = 提示
safe = 可安全执行
confirm = 需要确认
choice = 需要选择
none = 无自动修复
passed = 通过
failed = 未通过
not-applicable = 不适用
not-audited = 未审计
new = 新增
worse = 加重
unchanged = 未变
granted = 已授予
partial = 部分授予
denied = 被拒绝
missing = 缺少
undecided = 无法判断

# 问题
errors-the-controllers-fail-or-skip-something = 错误：控制器出错，或跳过了某些资源
warnings-works-by-chance-or-will-break = 警告：目前碰巧可用，或将会出错
notes = 提示
findings = 问题
rule = 规则
what = 详情
impact = 影响
what-breaks = 影响：
fix = 修复
step = 步骤
note = 注意
waiver = 豁免
run = 执行
why = 原因
related = 相关资源：
confidence-level-fingerprint = 可信度：{ $level }。指纹：
consent-summary = （{ $consent }）：{ $summary }
decided-in = 依据
link-to-this-finding = 本问题的链接
open-in-the-console = 在控制台中打开
and-number-more = ，另有 { $number } 个
and-number-more-v-shows-them = 另有 { $number } 项：使用 -v 显示
and-number-more-of-rule-v-or-format-json-shows-them = 规则 { $rule } 另有 { $number } 个问题：使用 -v 或 --format json 显示
the-last-number-are-shown-without-commands-tagaudit-scan-fix-and-the-json-report-have-all = 最后 { $number } 个不显示命令：`tagaudit scan --fix` 和 JSON 报告包含全部命令。
filter = 筛选
filter-id-name-action-a-b-for-either = 按 ID、名称或操作筛选；a|b 表示任意一个
since-then = 变化：

# 未审计、豁免和与上次的比较
not-audited-unknown-not-clean = 未审计：情况未知，不代表没有问题
everything-that-was-requested-could-be-audited = 要求审计的内容都已审计。
not-checked-on-it-rules = 未检查的规则：{ $rules }
rules-not-checked = 未检查的规则
not-applicable-there-is-nothing-to-check = 不适用：没有可检查的内容
waived = 已豁免
waived-left-as-they-are = 已豁免：保持现状
resolved = 已解决
resolved-no-longer-found = 已解决：不再出现
no-longer-found = 不再出现
unknown-found-before-but-not-checked-this-time = 未知：上次存在，本次未检查
unknown-not-checked-this-time = 未知：本次未检查

# 下一步
tagaudit-clusters-lists-the-cluster-ids-of-the-account = `tagaudit clusters` 列出账号中的集群 ID
tagaudit-scan-option-dry-run-previews-the-fixes-of-findings = `tagaudit scan … { $option } --dry-run` 预览 { $findings }的修复
tagaudit-explain-rule-describes-the-rule = `tagaudit explain { $rule } --lang zh` 说明该规则
tagaudit-permissions-prints-the-policy-where-a-call-was-refused = 调用被拒绝时，`tagaudit permissions` 显示所需的策略
count-finding = { $number } 个问题

# 表格
severity = 级别
resource = 资源
where = 位置
outcome = 结果
checked-on = 检查的资源数
outcomes-of-rules = { $rules }的结果
count-rule = { $number } 条规则
action = 操作
actions = 操作数
highest-access = 最高权限
the-worst = 风险最高的操作
policies = 策略
policies-of-the-nodes-roles = 节点角色的策略
baseline = 基线
excess = 多余
controllers = 控制器
controller = 控制器
version = 版本
role = 角色
role-source = 角色来源
lacks = 缺少
shared-with = 共用者
number-of-total = { $number }/{ $total } 个
count-action = { $number } 个操作
count-pattern = { $number } 个模式
count-node = { $number } 个节点
only-on = 仅限资源
only-if = 仅限条件
and-any-that-the-cloud-adds = ，以及云平台今后新增的操作
every-role-is-granted-everything-that-its-baseline-requires = 每个角色都已被授予其基线要求的全部权限。
actions-granted-to-every-role-whose-baseline-requires-them = 基线要求的 { $actions }已授予所有相关角色
goes-beyond-its-baseline-patterns = 超出基线：{ $patterns }

# 多个集群
targets = 审计目标
clusters = 集群
regions = 地域
errors = 错误
warnings = 警告
clusters-in-targets = { $targets }中的{ $clusters }
rules-by-cluster = 按规则统计集群
accounts-by-family-of-rules = 按规则类别统计账号
the-map-and-the-policies-of-one-cluster = 查看一个集群的拓扑图和策略：
counted-without-findings = { $counted }没有问题
targets-without-an-audited-cluster = { $targets }没有被审计的集群
count-account = { $number } 个账号
count-cluster = { $number } 个集群
count-target = { $number } 个目标
audited = 已审计
nothing-to-audit = 没有可审计的内容
skipped = 已跳过

region = 地域
in = 位置
none-in-this-shard = 本分片中没有
none-audited = 没有审计任何集群
number-clean-of-them-clean = { $number } 个，其中 { $clean } 个没有问题
findings-by-rule-tagaudit-explain-rule-describes-a-rule = 按规则统计的问题：`tagaudit explain RULE --lang zh` 说明一条规则
findings-in-clusters = { $findings }，位于 { $clusters }
v-shows-each-report-for-one-of-them-format-json-o-file-then-tagaudit-report-file-cluster-id-id = 使用 -v 显示每份报告；只看其中一份：先用 `--format json -o FILE` 保存，再运行 `tagaudit report FILE --cluster-id ID`
nothing-to-audit-no-cluster-found = 没有可审计的内容：未找到集群
no-cluster-found-any-more-the-earlier-run-audited-clusters = 未再找到集群：上次审计了 { $clusters }
skipped-why = 已跳过：{ $why }
beyond-the-baseline = 超出基线
beyond-the-baseline-it-can = 超出基线，因而可以

# 拓扑图和按钮
map = 拓扑图
drawing = 图形
no-nodes-were-found-so-there-is-nothing-to-draw = 没有找到节点，因此没有可绘制的内容。
number-shown = 显示 { $number } 个
number-of-total-shown = 显示 { $number } 个，共 { $total } 个
show-on-the-map = 在拓扑图中显示
copy = 复制
copied = 已复制
select-the-text-to-copy-it = 请选中文本后复制
save-the-drawing-svg = 保存图形（SVG）
colours-show = 颜色表示
tags = 标签
roles = 角色
larger = 放大
smaller = 缩小
fit-to-width = 适应宽度

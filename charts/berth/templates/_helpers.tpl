{{/* A list of strings in CEL. The schema allows no quotes in them. */}}
{{- define "berth.cel" -}}
[{{ range $i, $each := . }}{{ if $i }}, {{ end }}'{{ $each }}'{{ end }}]
{{- end }}

{{/* The extender's address in front of kube-scheduler. */}}
{{- define "berth.schedulerConfiguration" -}}
{{- with .Values.scheduler }}
{{- if .configuration }}
{{- .configuration }}
{{- else }}
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: true
  # Its own lock: with the default name it would wait forever for the cluster's scheduler.
  resourceName: {{ .name }}
  resourceNamespace: {{ $.Release.Namespace }}
# All nodes: by default the extender sees only some nodes of a cluster with 100 or more (facts 11 and 47).
percentageOfNodesToScore: 100
profiles:
  - schedulerName: {{ .name }}
extenders:
  - urlPrefix: {{ required "scheduler.url is missing: the stack's output UrlPrefix (or set sidecar.enabled, or scheduler.enabled=false)" .url }}
    {{- if has "filter" .verbs }}
    filterVerb: {{ ternary "filter_onlyone" "filter" .filterOnlyone }}
    {{- end }}
    {{- if and (has "prioritize" .verbs) (not .filterOnlyone) }}
    prioritizeVerb: prioritize
    weight: {{ .weight }}
    {{- end }}
    {{- if has "bind" .verbs }}
    bindVerb: bind
    {{- end }}
    {{- if has "preempt" .verbs }}
    preemptVerb: preempt
    {{- end }}
    nodeCacheCapable: {{ .nodeCacheCapable }}
    httpTimeout: {{ .httpTimeout }}
    {{- if or .tlsSecret .ca }}
    tlsConfig:
      {{- if .tlsSecret }}
      certFile: /etc/berth-tls/tls.crt
      keyFile: /etc/berth-tls/tls.key
      {{- end }}
      {{- if .ca }}
      caFile: /etc/berth/ca.crt
      {{- end }}
    {{- end }}
    # false: while Berth is down, its pods wait. true: they are placed without its rules (fact 39).
    ignorable: {{ .ignorable }}
{{- end }}
{{- end }}
{{- end }}

{{/* The files of the sidecar's ConfigMap: each is read once, so that a change of them starts new pods. */}}
{{- define "berth.sidecarFiles" -}}
scheduler.yaml: |
  apiVersion: kubescheduler.config.k8s.io/v1
  kind: KubeSchedulerConfiguration
  leaderElection:
    leaderElect: true
    # Its own lock: with the default name it would wait forever for the cluster's scheduler.
    resourceName: {{ .Values.sidecar.name }}
    resourceNamespace: {{ .Release.Namespace }}
  # All nodes: by default the extender sees only some nodes of a cluster with 100 or more (facts 11 and 47).
  percentageOfNodesToScore: 100
  profiles:
    - schedulerName: {{ .Values.sidecar.name }}
  extenders:
    # Plain HTTP: the containers of a pod share the loopback address, and no other pod has it.
    - urlPrefix: http://127.0.0.1:8080/scheduler
      filterVerb: filter
      prioritizeVerb: prioritize
      weight: 1
      bindVerb: bind
      preemptVerb: preempt
      nodeCacheCapable: true
      httpTimeout: {{ .Values.sidecar.httpTimeout }}
      # false: while Berth is down, its pods wait. true: they are placed without its rules (fact 39).
      ignorable: false
berth.yaml: |
  {{- toYaml .Values.sidecar.configuration | nindent 2 }}
# The pod's service account. The token is read again when the API server no longer takes the one there was.
kubeconfig: |
  apiVersion: v1
  kind: Config
  clusters:
    - name: this
      cluster:
        server: https://kubernetes.default.svc
        certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
  users:
    - name: {{ .Values.sidecar.name }}
      user:
        tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
  contexts:
    - name: this
      context: {cluster: this, user: {{ .Values.sidecar.name }}}
  current-context: this
{{- end }}

{{/* The rights of a kube-scheduler, for the service account of this name: call it with a dict of root, name and reader. */}}
{{- define "berth.schedulerRights" -}}
{{- $namespace := .root.Release.Namespace }}
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .name }}, namespace: {{ $namespace }}}
{{- range $role := list "kube-scheduler" "volume-scheduler" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: {{ $.name }}-as-{{ $role }}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:{{ $role }}"}
subjects: [{kind: ServiceAccount, name: {{ $.name }}, namespace: {{ $namespace }}}]
{{- end }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .name }}-{{ .reader }}, namespace: kube-system}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: extension-apiserver-authentication-reader}
subjects: [{kind: ServiceAccount, name: {{ .name }}, namespace: {{ $namespace }}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .name }}-leader-election, namespace: {{ $namespace }}}
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}
  - {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [{{ .name }}], verbs: [get, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .name }}-leader-election, namespace: {{ $namespace }}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .name }}-leader-election}
subjects: [{kind: ServiceAccount, name: {{ .name }}, namespace: {{ $namespace }}}]
{{- end }}

{{/* Plugins of the user's own, for berth serve and berth watch: call these with the values `plugins`. */}}
{{- define "berth.pluginArgument" -}}
{{- if or .configMap .image }}
- --plugins=/opt/plugins
{{- end }}
{{- end }}

{{- define "berth.pluginMount" -}}
{{- if .configMap }}
- {name: plugins, mountPath: /opt/plugins/berth_plugins, readOnly: true}
{{- else if .image }}
- {name: plugins, mountPath: /opt/plugins, readOnly: true}
{{- end }}
{{- end }}

{{- define "berth.pluginVolume" -}}
{{- if .configMap }}
- name: plugins
  configMap: {name: {{ .configMap }}}
{{- else if .image }}
- name: plugins
  image: {reference: {{ .image | quote }}, pullPolicy: IfNotPresent}
{{- end }}
{{- end }}

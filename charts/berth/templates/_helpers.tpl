{{/* A list of strings in CEL. The schema allows no quotes in them. */}}
{{- define "berth.cel" -}}
[{{ range $i, $each := . }}{{ if $i }}, {{ end }}'{{ $each }}'{{ end }}]
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

{{/* A kube-scheduler of the cluster's version, without the suffix of a managed cluster (v1.35.4-eks-3025e55). */}}
{{- define "berth.schedulerImage" -}}
{{- $version := "" }}
{{- with .Capabilities.KubeVersion }}
{{- $version = regexFind "^v[0-9]+[.][0-9]+[.][0-9]+" .Version | default (printf "v%s.%s.0" .Major .Minor) }}
{{- end }}
{{- .Values.scheduler.image | default (printf "registry.k8s.io/kube-scheduler:%s" $version) }}
{{- end }}

{{/* A file of a kube-scheduler, which `berth scheduler-config --second-scheduler` fills in as well: call it with a dict
of root, file and values. */}}
{{- define "berth.schedulerFile" -}}
{{- $text := .root.Files.Get (printf "files/scheduler/%s.yaml" .file) }}
{{- range $word, $value := .values }}
{{- $text = $text | replace (printf "${%s}" $word) $value }}
{{- end }}
{{- $text }}
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

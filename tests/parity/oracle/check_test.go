package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	withContainer := func() string { return `"containers": [{"name": "c", "image": "nginx"}]` }
	for name, c := range map[string]struct{ spec, want string }{
		"as stored":               {withContainer() + `, "schedulerName": "default-scheduler"`, ""},
		"a default is missing":    {withContainer(), "schedulerName"},
		"a field is unknown":      {withContainer() + `, "schedulerName": "default-scheduler", "node": "n"`, "unknown field"},
		"a field has wrong case":  {withContainer() + `, "schedulername": "default-scheduler"`, "unknown field"},
		"validation would refuse": {`"containers": [], "schedulerName": "default-scheduler"`, "spec.containers: Required"},
	} {
		t.Run(name, func(t *testing.T) {
			line := `{"objects": [], "pod": {"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "spec": {` + c.spec + `}}}`
			findings := checker{}.respond([]byte(line)).(Findings).Findings
			if c.want == "" {
				if len(findings) > 0 {
					t.Errorf("got %q", findings)
				}
				return
			}
			if !strings.Contains(strings.Join(findings, "\n"), c.want) {
				t.Errorf("got %q, want one about %q", findings, c.want)
			}
		})
	}
}

package util

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/kubernetes/test/integration/framework"
)

const wipeSeconds = 60

// sharedServer is an API server that the cases of a test use one after the other. Upstream starts a server for each
// case, which takes most of a case's time.
type sharedServer struct {
	client    clientset.Interface
	config    *rest.Config
	resources []schema.GroupVersionResource
	inUse     bool
}

var sharedServers = map[string]*sharedServer{}

// startTestServer returns a new server, or the server of an earlier case with the same feature gates. The returned
// function deletes the objects that the case has left. A test with its own admission plugin gets its own server.
func startTestServer(ctx context.Context, t *testing.T, admission admission.Interface, setup framework.TestServerSetup) (
	clientset.Interface, *rest.Config, framework.TearDownFunc) {
	key := featureGates()
	server := sharedServers[key]
	if admission != nil || server != nil && server.inUse {
		return framework.StartTestServer(ctx, t, setup)
	}
	if server == nil {
		client, config, _ := framework.StartTestServer(context.Background(), outlivingTB{t}, setup)
		server = &sharedServer{client: client, config: config, resources: deletable(t, client)}
		sharedServers[key] = server
	}
	server.inUse = true
	return server.client, rest.CopyConfig(server.config), func() {
		server.wipe(t)
		server.inUse = false
	}
}

func featureGates() string {
	gates := []string{utilfeature.DefaultMutableFeatureGate.EmulationVersion().String()}
	for name := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		gates = append(gates, fmt.Sprint(name, utilfeature.DefaultFeatureGate.Enabled(name)))
	}
	slices.Sort(gates)
	return strings.Join(gates, ",")
}

// outlivingTB is for a server that outlives the test: it ignores cleanup functions and log lines.
type outlivingTB struct{ testing.TB }

func (outlivingTB) Cleanup(func())      {}
func (outlivingTB) Log(...any)          {}
func (outlivingTB) Logf(string, ...any) {}

// deletable returns the resources that a scheduler or Berth reads, the pods first.
func deletable(t *testing.T, client clientset.Interface) []schema.GroupVersionResource {
	lists, err := client.Discovery().ServerPreferredResources()
	if err != nil {
		t.Fatalf("reading the server's resources: %v", err)
	}
	found := []schema.GroupVersionResource{v1.SchemeGroupVersion.WithResource("pods")}
	for _, list := range lists {
		version, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, each := range list.APIResources {
			resource := version.WithResource(each.Name)
			kept := slices.Contains(keptGroups, version.Group) || version.Group == "" && slices.Contains(keptResources, each.Name)
			if !kept && slices.Contains(each.Verbs, "delete") && slices.Contains(each.Verbs, "list") && resource != found[0] {
				found = append(found, resource)
			}
		}
	}
	return found
}

// Resources that the server creates itself, and resources that neither a scheduler nor Berth reads.
var (
	keptGroups = []string{
		"events.k8s.io", "flowcontrol.apiserver.k8s.io", "rbac.authorization.k8s.io", "apiregistration.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "networking.k8s.io",
	}
	keptResources = []string{"events", "endpoints", "namespaces", "configmaps", "secrets", "serviceaccounts"}
)

// wipe deletes all objects, and then the namespaces, which no controller finalizes.
func (s *sharedServer) wipe(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), wipeSeconds*time.Second)
	defer cancel()
	client := dynamic.NewForConfigOrDie(s.config)
	for _, resource := range s.resources {
		wipeResource(ctx, t, client.Resource(resource))
	}
	namespaces, err := s.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatalf("listing namespaces: %v", err)
	}
	for _, each := range namespaces.Items {
		if each.Name == "default" || strings.HasPrefix(each.Name, "kube-") {
			continue
		}
		if err := s.client.CoreV1().Namespaces().Delete(ctx, each.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatalf("deleting a namespace: %v", err)
		}
		each.Spec.Finalizers = nil
		each.ResourceVersion = ""
		if _, err := s.client.CoreV1().Namespaces().Finalize(ctx, &each, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("finalizing a namespace: %v", err)
		}
	}
}

func wipeResource(ctx context.Context, t *testing.T, client dynamic.NamespaceableResourceInterface) {
	immediately := *metav1.NewDeleteOptions(0)
	for {
		found, err := client.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatalf("listing what a case has left: %v", err)
		}
		left := 0
		for _, each := range found.Items {
			if strings.HasPrefix(each.GetName(), "system-") || each.GetNamespace() == "default" && each.GetName() == "kubernetes" {
				continue
			}
			left++
			var objects dynamic.ResourceInterface = client
			if each.GetNamespace() != "" {
				objects = client.Namespace(each.GetNamespace())
			}
			if len(each.GetFinalizers()) > 0 {
				_, err = objects.Patch(ctx, each.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			}
			if err == nil {
				err = objects.Delete(ctx, each.GetName(), immediately)
			}
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				t.Fatalf("deleting what a case has left: %v", err)
			}
		}
		if left == 0 {
			return
		}
	}
}

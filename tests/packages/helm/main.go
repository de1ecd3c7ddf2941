// Helm's own library, without what asks a cluster: that compiles in a third of the
// time. It prints {template: text} of a chart and its values, or its faults.
//
//	helm lint|template CHART VALUES RELEASE NAMESPACE KUBERNETES
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
)

type request struct {
	chart   string
	values  chartutil.Values
	release chartutil.ReleaseOptions
	kube    *chartutil.KubeVersion
}

func parse(args []string) (*request, error) {
	values, err := chartutil.ReadValuesFile(args[1])
	if err != nil {
		return nil, err
	}
	kube, err := chartutil.ParseKubeVersion(args[4])
	if err != nil {
		return nil, err
	}
	return &request{
		chart:  args[0],
		values: values,
		release: chartutil.ReleaseOptions{
			Name: args[2], Namespace: args[3], IsInstall: true, Revision: 1,
		},
		kube: kube,
	}, nil
}

// As `helm install --dry-run` does it.
func template(r *request) error {
	chart, err := loader.LoadDir(r.chart)
	if err != nil {
		return err
	}
	if !chartutil.IsCompatibleRange(chart.Metadata.KubeVersion, r.kube.String()) {
		return fmt.Errorf("chart requires kubeVersion: %s which is incompatible with Kubernetes %s",
			chart.Metadata.KubeVersion, r.kube)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *r.kube
	values, err := chartutil.ToRenderValues(chart, r.values, r.release, capabilities)
	if err != nil {
		return err
	}
	texts, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(texts)
}

// What is no more than advice is left out.
func lintChart(r *request) error {
	var faults []string
	done := lint.AllWithKubeVersion(r.chart, r.values, r.release.Namespace, r.kube)
	for _, message := range done.Messages {
		if message.Severity >= support.WarningSev {
			faults = append(faults, message.Error())
		}
	}
	if faults != nil {
		return fmt.Errorf("%s", strings.Join(faults, "\n"))
	}
	return nil
}

func run(args []string) error {
	commands := map[string]func(*request) error{"lint": lintChart, "template": template}
	if len(args) != 6 || commands[args[0]] == nil {
		return fmt.Errorf("usage: helm lint|template CHART VALUES RELEASE NAMESPACE KUBERNETES")
	}
	r, err := parse(args[1:])
	if err != nil {
		return err
	}
	return commands[args[0]](r)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

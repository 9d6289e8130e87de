package terraform

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Of the balancer and of the visitors' certificate there is an alarm for each thing
// that only AWS can see, with whom to tell and what to do.
func TestAlarmsOfTheBalancer(t *testing.T) {
	t.Parallel()
	const topic = "arn:aws:sns:eu-central-1:123456789012:duty"
	m, err := Load("modules/balancer")
	if err != nil {
		t.Fatal(err)
	}
	values := inputs(t, m)
	values["alert_topic_arn"] = cty.StringVal(topic)
	e, err := m.Evaluate(Given{Variables: values, Now: now, Known: map[string]cty.Value{
		"aws_lb.this.arn_suffix":              cty.StringVal("app/room/01"),
		"aws_lb_target_group.this.arn_suffix": cty.StringVal("targetgroup/queue-/02"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Value("local.alarms")
	if err != nil || !v.IsWhollyKnown() {
		t.Fatalf("%#v: %v", v, err)
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		t.Fatal(err)
	}
	var alarms map[string]struct {
		Says       string            `json:"says"`
		Metric     string            `json:"metric"`
		Comparison string            `json:"comparison"`
		Dimensions map[string]string `json:"dimensions"`
		Threshold  float64           `json:"threshold"`
		Of         int               `json:"of"`
		In         int               `json:"in"`
		Period     int               `json:"period"`
	}
	if err := json.Unmarshal(text, &alarms); err != nil {
		t.Fatal(err)
	}
	var metrics []string
	for name, a := range alarms {
		metrics = append(metrics, a.Metric)
		if a.Of < 1 || a.Of > a.In || a.Period%60 != 0 || a.In*a.Period > 86400 || !strings.HasSuffix(a.Says, ".") {
			t.Errorf("%s: %+v", name, a)
		}
		if a.Metric == "DaysToExpiry" {
			if a.Dimensions["CertificateArn"] != samples["certificate_arn"].AsString() || a.Threshold < 14 || a.Comparison != "LessThanThreshold" {
				t.Errorf("the certificate's end: %+v", a)
			}
		} else if a.Dimensions["LoadBalancer"] != "app/room/01" || a.Comparison != "GreaterThanThreshold" {
			t.Errorf("%s is of another balancer: %v", name, a)
		}
	}
	for _, metric := range []string{
		"UnHealthyHostCount", "RejectedConnectionCount", "HTTPCode_ELB_5XX_Count", "HTTPCode_Target_5XX_Count", "DaysToExpiry",
	} {
		if !slices.Contains(metrics, metric) {
			t.Errorf("there is no alarm for %s", metric)
		}
	}
	alarm := e.Of("resource", "aws_cloudwatch_metric_alarm")[0]
	for _, action := range []string{"alarm_actions", "ok_actions"} {
		told, err := e.Argument(alarm, action)
		if err != nil || told.LengthInt() != 1 || told.AsValueSlice()[0].AsString() != topic {
			t.Errorf("%s: %#v, %v", action, told, err)
		}
	}
}

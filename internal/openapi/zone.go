package openapi

import (
	"reflect"
	"strings"

	"github.com/openqueue/waitingroom/internal/limits/limiter"
	"github.com/openqueue/waitingroom/internal/line"
	"github.com/openqueue/waitingroom/internal/serve/route"
	"github.com/openqueue/waitingroom/internal/setting"
	"github.com/openqueue/waitingroom/internal/watch"
	"github.com/openqueue/waitingroom/internal/zone"
)

// object returns an object of pairs of a name and a value.
func object(pairs ...any) (o route.Object) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok {
			o = o.With(name, pairs[i+1])
		}
	}
	return o
}

// settings is the schema of a zone, from zone.Table; change, of settings that a change names.
func settings(d *route.Describer, change bool) route.Object {
	usual := zone.Defaults("TEST_ZONE")
	required := []string{zone.IDName}
	properties := object(zone.IDName, object("type", "string", "minLength", 1, "maxLength", 64, "example", usual.ZoneID,
		"description", "The zone. A change may leave it out; it is that of the path."))
	for i := range zone.Table {
		x := &zone.Table[i]
		is := route.FromJSON(x.Value(usual))
		properties = append(properties, object(x.Name, append(settingSchema(d, x), object("default", is, "example", is, "description", means(x))...))...)
		required = append(required, x.Name)
	}
	if change {
		return object("type", "object", "additionalProperties", false, "properties", properties)
	}
	return object("type", "object", "required", required, "properties", properties)
}

// settingSchema is the schema of a setting.
func settingSchema(d *route.Describer, x *zone.Setting) route.Object {
	text := object("type", "string", "maxLength", x.MaxLength)
	some := object("type", "string", "minLength", 1, "maxLength", x.MaxLength)
	switch x.Default.(type) {
	case int64:
		return object("type", "integer", "format", "int64", "minimum", x.Least, "maximum", x.Most)
	case bool:
		return object("type", "boolean")
	case zone.Texts:
		return texts(x.MaxLength)
	case []string:
		return object("type", "array", "maxItems", x.Most, "items", some)
	case zone.PerSecond:
		return object("oneOf", []route.Object{
			object("type", "string", "enum", []string{zone.PerSecondAuto.String(), zone.PerSecondNone.String()}),
			object("type", "integer", "format", "int64", "minimum", 1, "maximum", zone.MaxMaxPerSecond),
		})
	}
	of := reflect.TypeOf(x.At(new(zone.Settings))).Elem()
	switch {
	case of.Kind() == reflect.Slice:
		return object("type", "array", "maxItems", x.Most, "items", d.Schema(of.Elem()))
	case x.Own:
		return object("type", "object", "allOf", []route.Object{d.Schema(of)})
	case x.Choices == nil:
		return text
	}
	var all []string
	for _, c := range x.Choices {
		all = append(all, c.Value)
	}
	return object("type", "string", "enum", all)
}

// texts is the schema of a text in languages: of a text alone where there is one language.
func texts(maxLength int) route.Object {
	return object("oneOf", []route.Object{
		object("type", "string", "maxLength", maxLength),
		object("type", "object", "required", []string{zone.DefaultText}, "maxProperties", setting.MaxLanguages,
			"additionalProperties", object("type", "string", "minLength", 1, "maxLength", maxLength)),
	})
}

// means says in words what a setting does.
func means(x *zone.Setting) string {
	all := []string{x.Hint}
	for _, c := range x.Choices {
		if c.Means != "" {
			all = append(all, "`"+c.Value+"`: "+c.Means+".")
		}
	}
	return strings.Join(all, " ")
}

// counts is the schema of an object of counts, which each calls with the name and what it counts.
func counts(each func(func(name, doc string))) route.Object {
	var required []string
	var properties route.Object
	each(func(name, doc string) {
		required = append(required, name)
		properties = properties.With(name, object("type", "integer", "format", "int64", "minimum", 0, "example", 0, "description", doc))
	})
	return object("type", "object", "required", required, "properties", properties)
}

// outcomes is the schema of limiter.Counts.
func outcomes(*route.Describer) route.Object { return counts(limiter.Described) }

// totals is the schema of a zone's totals.
func totals(*route.Describer) route.Object {
	return counts(func(say func(name, doc string)) {
		for _, x := range line.TotalTable {
			say(x.Name, x.Help)
		}
	})
}

// columns is the schema of samples in columns: of each figure an array, with null where it is not known.
func columns(d *route.Describer) route.Object {
	s := d.Struct(reflect.TypeFor[watch.Sample](), false)
	properties, _ := s.Get("properties").(route.Object)
	for i, p := range properties {
		var one route.Object
		figure, _ := p.Value.(route.Object)
		for _, m := range figure {
			if m.Name != "description" && m.Name != "enum" { // null is none of the values
				one = append(one, m)
			}
		}
		properties[i].Value = object("type", "array", "items", one.With("nullable", true), "description", figure.Get("description"))
	}
	return s
}

package licenses

import (
	"crypto/sha256"
	_ "embed" // for components.json
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// components.json is generated with notices.txt, from the same modules and packages.
//
//go:embed components.json
var componentList []byte

// Component is a Go module or an npm package of others that the binary contains.
type Component struct {
	Kind     string   `json:"kind"` // "golang" or "npm"
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	Licenses []string `json:"licenses"` // SPDX ids
}

// Components returns what the binary may contain on any platform: Go modules, npm packages of the
// console, and grammars.
func Components() []Component {
	var all []Component
	if err := json.Unmarshal(componentList, &all); err != nil {
		panic("components.json: " + err.Error()) // it is part of the program, and tested
	}
	return all
}

// standardLibrary is the name of the Go standard library in package URLs.
const standardLibrary = "stdlib"

// Types of the bill of materials: the members of CycloneDX 1.6 that are used.
type (
	bill struct {
		Format       string          `json:"bomFormat"`
		SpecVersion  string          `json:"specVersion"`
		SerialNumber string          `json:"serialNumber"`
		Version      int             `json:"version"`
		Metadata     billMetadata    `json:"metadata"`
		Components   []billComponent `json:"components"`
		Dependencies []billLinks     `json:"dependencies"`
	}
	billMetadata struct {
		Timestamp string        `json:"timestamp,omitempty"`
		Component billComponent `json:"component"`
	}
	billComponent struct {
		Type     string        `json:"type"`
		Ref      string        `json:"bom-ref"`
		Name     string        `json:"name"`
		Version  string        `json:"version"`
		Licenses []billLicense `json:"licenses"`
		PURL     string        `json:"purl"`
	}
	billLicense struct {
		License struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	billLinks struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// WriteBill writes the software bill of materials of a binary as CycloneDX 1.6 JSON: the modules that
// info lists, and the packages of the console and the grammars. The same binary always has the same bill.
func WriteBill(w io.Writer, version string, info *debug.BuildInfo) error {
	own := newBillComponent("application", Component{
		Kind: "golang", Name: "bellhop", Version: version, Licenses: []string{"Apache-2.0"},
	})
	b := bill{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1, Metadata: billMetadata{Component: own},
		Dependencies: []billLinks{{Ref: own.Ref}},
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.time" {
			b.Metadata.Timestamp = setting.Value
		}
	}
	for _, c := range contained(info) {
		component := newBillComponent("library", c)
		b.Components = append(b.Components, component)
		b.Dependencies[0].DependsOn = append(b.Dependencies[0].DependsOn, component.Ref)
	}
	content, err := json.Marshal(b)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8: the writer's own
	b.SerialNumber = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(b)
}

// contained returns the modules of a binary with the versions that were linked, and all packages.
func contained(info *debug.BuildInfo) []Component {
	known := map[string][]string{}
	var packages []Component
	for _, c := range Components() {
		if c.Kind == "npm" {
			packages = append(packages, c)
		} else {
			known[c.Name] = c.Licenses
		}
	}
	goVersion := strings.TrimPrefix(info.GoVersion, "go")
	modules := []Component{
		{Kind: "golang", Name: standardLibrary, Version: goVersion, Licenses: known[standardLibrary]},
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		modules = append(modules, Component{Kind: "golang", Name: m.Path, Version: m.Version, Licenses: known[m.Path]})
	}
	return slices.Concat(modules, packages)
}

func newBillComponent(kind string, c Component) billComponent {
	name := strings.ReplaceAll(url.PathEscape(c.Name), "%2F", "/")
	purl := "pkg:" + c.Kind + "/" + strings.ReplaceAll(name, "@", "%40") + "@" + url.QueryEscape(c.Version)
	out := billComponent{Type: kind, Ref: purl, Name: c.Name, Version: c.Version, PURL: purl, Licenses: []billLicense{}}
	for _, id := range c.Licenses {
		var license billLicense
		license.License.ID = id
		out.Licenses = append(out.Licenses, license)
	}
	return out
}

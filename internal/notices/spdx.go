package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A document is a bill of materials as SPDX 2.3 writes it in JSON.
type document struct {
	Version           string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	ID                string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []spdxPackage  `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	Name             string        `json:"name"`
	ID               string        `json:"SPDXID"`
	VersionInfo      string        `json:"versionInfo"`
	Purpose          string        `json:"primaryPackagePurpose"`
	DownloadLocation string        `json:"downloadLocation"`
	FilesAnalyzed    bool          `json:"filesAnalyzed"`
	LicenseConcluded string        `json:"licenseConcluded"`
	LicenseDeclared  string        `json:"licenseDeclared"`
	CopyrightText    string        `json:"copyrightText"`
	ExternalRefs     []externalRef `json:"externalRefs"`
}

type externalRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

const documentID = "SPDXRef-DOCUMENT"

// billOfMaterials describes a version of the program with its components. Its time
// is SOURCE_DATE_EPOCH if that is set.
func billOfMaterials(all []component, version string) ([]byte, error) {
	created := time.Now()
	if v := os.Getenv("SOURCE_DATE_EPOCH"); v != "" {
		seconds, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
		}
		created = time.Unix(seconds, 0)
	}
	d := document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: "pickup-" + version,
		CreationInfo: creation{created.UTC().Format(time.RFC3339), []string{"Tool: pickup-notices"}},
	}
	program := ""
	for _, c := range all {
		p := c.spdx(version)
		d.Packages = append(d.Packages, p)
		if c.kind == "program" {
			program = p.ID
			d.Relationships = append(d.Relationships, relationship{documentID, "DESCRIBES", program})
		}
	}
	for i, c := range all {
		if c.kind != "program" {
			d.Relationships = append(d.Relationships, relationship{program, "CONTAINS", d.Packages[i].ID})
		}
	}
	packages, err := json.Marshal(d.Packages)
	if err != nil {
		return nil, err
	}
	// The namespace has to be unique to the contents.
	d.DocumentNamespace = fmt.Sprintf("https://spdx.org/spdxdocs/%s-%x", d.Name, sha256.Sum256(packages))
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	err = e.Encode(d)
	return b.Bytes(), err
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdx describes a component. version is that of the program.
func (c component) spdx(version string) spdxPackage {
	kind, purpose := c.kind, "LIBRARY"
	if kind == "program" {
		kind, purpose, c.version = "golang", "APPLICATION", version
	}
	locator := fmt.Sprintf("pkg:%s/%s@%s", kind, strings.ReplaceAll(c.name, "@", "%40"), c.version)
	return spdxPackage{
		Name: c.name, ID: "SPDXRef-Package-" + kind + "-" + notInID.ReplaceAllString(c.name, "-"), VersionInfo: c.version, Purpose: purpose,
		DownloadLocation: "NOASSERTION", LicenseConcluded: c.license, LicenseDeclared: c.license, CopyrightText: "NOASSERTION",
		ExternalRefs: []externalRef{{"PACKAGE-MANAGER", "purl", locator}},
	}
}

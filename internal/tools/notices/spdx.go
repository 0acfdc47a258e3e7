package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// billOfMaterials describes a version of the program with its components, as SPDX 2.3
// writes it in JSON. Its time is SOURCE_DATE_EPOCH.
func billOfMaterials(all []component, version string) ([]byte, error) {
	type object map[string]any
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	const programID = "SPDXRef-Program"
	var packages, relationships []object
	for _, c := range all {
		id, purpose := "SPDXRef-Package-"+c.kind+"-"+notInID.ReplaceAllString(c.name, "-"), "LIBRARY"
		relationship := object{"spdxElementId": programID, "relationshipType": "CONTAINS", "relatedSpdxElement": id}
		if c.kind == "program" {
			id, purpose, c.kind, c.version = programID, "APPLICATION", "golang", version
			relationship = object{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": id}
		}
		relationships = append(relationships, relationship)
		packages = append(packages, object{
			"name": c.name, "SPDXID": id, "versionInfo": c.version, "primaryPackagePurpose": purpose,
			"downloadLocation": "NOASSERTION", "filesAnalyzed": false, "copyrightText": "NOASSERTION",
			"licenseConcluded": c.license, "licenseDeclared": c.license,
			"externalRefs": []object{{
				"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
				"referenceLocator": fmt.Sprintf("pkg:%s/%s@%s", c.kind, strings.ReplaceAll(c.name, "@", "%40"), c.version),
			}},
		})
	}
	return json.MarshalIndent(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "pickup-" + version,
		// The namespace has to be unique to the contents.
		"documentNamespace": fmt.Sprintf("https://spdx.org/spdxdocs/pickup-%s-%x", version, sha256.Sum256(fmt.Append(nil, packages))),
		"creationInfo":      object{"created": time.Unix(seconds, 0).UTC().Format(time.RFC3339), "creators": []string{"Tool: pickup-notices"}},
		"packages":          packages, "relationships": relationships,
	}, "", "  ")
}

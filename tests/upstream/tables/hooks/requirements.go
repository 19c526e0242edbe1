//go:build ignore

package labels

func requirementsOf(selector Selector) []any {
	found := []any{}
	for _, each := range *selector.(*internalSelector) {
		found = append(found, map[string]any{"key": each.key, "operator": each.operator, "values": each.strValues})
	}
	return found
}

//go:build ignore

package resource

// unitsOf does not take the table's quantity: of one beyond 64 bits the units depend on how it came about.
func unitsOf(text string) map[string]int64 {
	quantity, err := ParseQuantity(text)
	if err != nil {
		return nil
	}
	return map[string]int64{"value": quantity.Value(), "milli": quantity.MilliValue()}
}

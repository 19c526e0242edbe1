//go:build ignore

package resource

// unitsOf parses the text: the units of a quantity beyond 64 bits depend on how the quantity was created.
func unitsOf(text string) map[string]int64 {
	quantity, err := ParseQuantity(text)
	if err != nil {
		return nil
	}
	return map[string]int64{"value": quantity.Value(), "milli": quantity.MilliValue()}
}

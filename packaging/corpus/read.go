package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
)

func main() {
	var finalText *string
	stdout, _ := os.ReadFile(os.Args[1])
	for _, line := range bytes.Split(stdout, []byte("\n")) {
		var record struct{ Type, Result string }
		if json.Unmarshal(line, &record) == nil && record.Type == "result" { // else a line of a log
			text := strings.TrimSpace(record.Result)
			finalText = &text
		}
	}
	json.NewEncoder(os.Stdout).Encode(finalText)
}

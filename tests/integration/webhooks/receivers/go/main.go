package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"

	"receiver/webhook"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		header, others := http.Header{}, map[string][]byte{}
		for _, field := range strings.Split(lines.Text(), " ") {
			name, text, _ := strings.Cut(field, ":")
			value, _ := base64.StdEncoding.DecodeString(text)
			if strings.HasPrefix(name, "webhook-") {
				header.Set(name, string(value))
			} else {
				others[name] = value
			}
		}
		fmt.Println(webhook.IsAuthentic(string(others["secret"]), header, others["body"]))
	}
}

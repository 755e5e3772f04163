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
		header, body := http.Header{}, []byte{}
		for _, field := range strings.Split(lines.Text(), " ") {
			name, text, _ := strings.Cut(field, ":")
			value, _ := base64.StdEncoding.DecodeString(text)
			if name == "body" {
				body = value
			} else {
				header.Set(name, string(value))
			}
		}
		fmt.Println(webhook.IsAuthentic(os.Args[1], header, body))
	}
}

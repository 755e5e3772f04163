require_relative "webhook"

$stdin.each_line(chomp: true) do |line|
  fields = line.split.to_h { |field| field.split(":", 2).then { |name, text| [name, text.unpack1("m")] } }
  body = fields.delete("body")
  headers = fields.transform_values { _1.force_encoding("UTF-8") }
  puts authentic?(headers["secret"], headers, body)
rescue ArgumentError
  puts "unusable"
end

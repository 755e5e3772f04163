require_relative "webhook"

$stdin.each_line(chomp: true) do |line|
  headers = line.split.to_h { |field| field.split(":", 2).then { |name, text| [name, text.unpack1("m")] } }
  puts authentic?(headers.delete("secret"), headers, headers.delete("body"))
rescue ArgumentError
  puts "unusable"
end

require "active_record"
require_relative "application_record"

server = { host: ENV["PGHOST"], port: ENV["PGPORT"], username: ENV["PGUSER"], database: ENV["PGDATABASE"] }
ActiveRecord::Base.establish_connection(adapter: "postgresql", pool: 1, **server)

class Invoice < ApplicationRecord
  self.table_name = "invoice"

  def pay(status)
    update!(status: status, backend: self.class.connection.select_value("select pg_backend_pid()"))
  end
end

$stdin.each_line(chomp: true) do |line|
  step = line.split.to_h { |field| field.split(":", 2).then { |name, text| [name, text.unpack1("m").force_encoding("UTF-8")] } }
  invoice = Invoice.find(7)
  if step["way"] == "plain"
    invoice.pay(step["status"])
  else
    context = step["context"] && JSON.parse(step["context"])
    ApplicationRecord.acting_as(step["actor"], tenant: step["tenant"], context: context) do
      invoice.pay(step["status"])
      raise "the step fails" if step["way"] == "fails"

      if step["way"] == "nests"
        ApplicationRecord.acting_as("inner") { invoice.pay("inside") }
        invoice.pay("afterwards")
      end
    end
  end
rescue RuntimeError, ActiveRecord::StatementInvalid => error
  raise unless error.full_message.match?(/the step fails|terminating connection/) # with its causes
ensure
  ActiveRecord::Base.clear_active_connections! # as Rails does after each request
end

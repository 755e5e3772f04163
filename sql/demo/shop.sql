create table customer (
    id bigint primary key, name text not null, email text not null, phone text, password_hash text not null
);
create table product (
    id bigint primary key, name text not null, price numeric(10, 2) not null, stock integer not null
);
create table orders (
    id bigint primary key, customer_id bigint not null references customer, total numeric(10, 2) not null,
    status text not null default 'placed'
);
create table order_line (
    order_id bigint not null references orders, product_id bigint not null references product,
    quantity integer not null, price numeric(10, 2) not null, primary key (order_id, product_id)
);
create table payment (
    id bigint primary key, order_id bigint not null references orders, amount numeric(10, 2) not null,
    card_number text not null, status text not null default 'captured'
);

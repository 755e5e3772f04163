create table customer (id integer primary key, name text not null, email text not null, password_hash text not null);
create table product (id integer primary key, name text not null, price real not null);
create table orders (
    id integer primary key, product_id integer not null references product, price real not null,
    card_number text not null
);
insert into product values (1, 'Tent', 249), (2, 'Stove', 59.9);

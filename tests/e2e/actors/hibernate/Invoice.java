class Invoice {
    int id;
    String status;
    Integer backend;
}
